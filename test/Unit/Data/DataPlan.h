//===- DataPlan.h - Plans that have inputs only ---------------------------===//
#ifndef ZERO_TEST_UNIT_DATA_DATAPLAN_H
#define ZERO_TEST_UNIT_DATA_DATAPLAN_H

#include "test/Unit/Support/TinyPlan.h"

namespace zero::test {

/// A plan with these inputs, which trains; the last one is the labels.
class DataPlan {
public:
  DataPlan() {
    plan.sections.push_back(std::make_unique<schema::SectionT>());
    plan.sections.back()->name = "update";
  }
  DataPlan &add(const char *name, schema::ElementType element, std::vector<int64_t> shape, int64_t limit = 0,
                bool ignoresMinus100 = false) {
    auto input = std::make_unique<schema::InputT>();
    input->name = name;
    input->element = element;
    input->shape = std::move(shape);
    input->limit = limit;
    input->has_ignore_index = ignoresMinus100;
    input->ignore_index = ignoresMinus100 ? -100 : 0;
    plan.inputs.push_back(std::move(input));
    return *this;
  }
  schema::InputT &last() { return *plan.inputs.back(); }
  const schema::Plan &get() {
    plan.inputs.back()->label = true;
    return getWithoutLabels();
  }
  /// The same plan, all of whose inputs are no labels, and which predicts alone.
  const schema::Plan &getToPredict() {
    plan.sections.back()->name = "predict";
    return getWithoutLabels();
  }

private:
  const schema::Plan &getWithoutLabels() {
    bytes = serialize(plan);
    return *schema::GetPlan(bytes.data());
  }

  schema::PlanT plan;
  std::string bytes;
};

} // namespace zero::test

#endif
