//===- PlanNumbers.cpp - Where the numbers of a plan's records are --------===//
#include "test/Runtime/Damage/PlanNumbers.h"
#include <flatbuffers/reflection.h>

using namespace zero::test;

namespace {

class Walk {
public:
  Walk(const reflection::Schema &schema, const uint8_t *begin, std::vector<PlanNumber> &found) : schema(schema), begin(begin), found(found) {}

  void table(const reflection::Object &type, const flatbuffers::Table &at, const std::string &path) {
    for (const reflection::Field *field : *type.fields()) {
      const uint8_t *place = at.GetAddressOf(field->offset());
      if (!place)
        continue;
      std::string name = path + (path.empty() ? "" : ".") + field->name()->str();
      switch (field->type()->base_type()) {
      case reflection::String:
        break;
      case reflection::Vector:
        vector(*field->type(), *at.GetPointer<const flatbuffers::VectorOfAny *>(field->offset()), name);
        break;
      case reflection::Obj: {
        const reflection::Object &inner = *schema.objects()->Get(field->type()->index());
        if (inner.is_struct())
          structure(inner, place, name);
        else
          table(inner, *at.GetPointer<const flatbuffers::Table *>(field->offset()), name);
        break;
      }
      case reflection::Union: {
        // The type of what is there stands in the field before.
        const reflection::Field *typeField = type.fields()->LookupByKey((field->name()->str() + "_type").c_str());
        auto kind = at.GetField<uint8_t>(typeField->offset(), 0);
        for (const reflection::EnumVal *value : *schema.enums()->Get(field->type()->index())->values())
          if (kind != 0 && value->value() == kind)
            table(*schema.objects()->Get(value->union_type()->index()), *at.GetPointer<const flatbuffers::Table *>(field->offset()), name);
        break;
      }
      default:
        add(field->type()->base_type(), place, name);
      }
    }
  }

private:
  void structure(const reflection::Object &type, const uint8_t *at, const std::string &path) {
    for (const reflection::Field *field : *type.fields())
      add(field->type()->base_type(), at + field->offset(), path + "." + field->name()->str());
  }

  void vector(const reflection::Type &type, const flatbuffers::VectorOfAny &list, const std::string &path) {
    found.push_back({path + ".size", static_cast<uint64_t>(reinterpret_cast<const uint8_t *>(&list) - begin), sizeof(flatbuffers::uoffset_t), false, false, true});
    const reflection::BaseType element = type.element();
    if (element == reflection::String)
      return;
    for (uint32_t i = 0; i < list.size(); ++i) {
      std::string name = path + "[" + std::to_string(i) + "]";
      if (element != reflection::Obj) {
        add(element, list.Data() + i * flatbuffers::GetTypeSize(element), name);
        continue;
      }
      const reflection::Object &inner = *schema.objects()->Get(type.index());
      if (inner.is_struct()) {
        structure(inner, list.Data() + i * inner.bytesize(), name);
      } else {
        const uint8_t *reference = list.Data() + i * sizeof(flatbuffers::uoffset_t);
        table(inner, *reinterpret_cast<const flatbuffers::Table *>(reference + flatbuffers::ReadScalar<flatbuffers::uoffset_t>(reference)), name);
      }
    }
  }

  void add(reflection::BaseType type, const uint8_t *at, const std::string &path) {
    found.push_back({path, static_cast<uint64_t>(at - begin), static_cast<uint32_t>(flatbuffers::GetTypeSize(type)),
                     type == reflection::Float || type == reflection::Double, type == reflection::Bool, false});
  }

  const reflection::Schema &schema;
  const uint8_t *begin;
  std::vector<PlanNumber> &found;
};

} // namespace

std::vector<PlanNumber> zero::test::findPlanNumbers(const std::string &schema, std::string &records) {
  std::vector<PlanNumber> found;
  const reflection::Schema &types = *reflection::GetSchema(schema.data());
  auto *begin = reinterpret_cast<const uint8_t *>(records.data());
  Walk(types, begin, found).table(*types.root_table(), *flatbuffers::GetRoot<flatbuffers::Table>(begin), "");
  return found;
}
