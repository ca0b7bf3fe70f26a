//===- ReportTests.cpp - What a plan takes, holds and sends ---------------===//
#include "SmallPlan.h"
#include "zero/Analysis/CommunicationReport.h"
#include "zero/Analysis/MemoryReport.h"
#include <gtest/gtest.h>
#include <numeric>

using namespace mlir;
using zero::plan::ContentClass;

namespace zero {
namespace {

class Reports : public ::testing::Test {
protected:
  Reports() {
    test::loadDialects(context);
    module = parseSourceString<ModuleOp>(test::smallPlan("#nn.external<\"m.onnx\", 0, 384, 1>"), &context);
  }
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
};

TEST_F(Reports, ClassesAtThePeakSumToTheArena) {
  ASSERT_TRUE(module);
  SmallVector<ArenaReport> reports = computeArenaReports(*module);
  ASSERT_EQ(reports.size(), 1u);
  const ArenaReport &report = reports.front();
  EXPECT_EQ(report.arenaBytes, 4352);
  EXPECT_EQ(std::accumulate(report.bytes.begin(), report.bytes.end(), int64_t(0)), report.arenaBytes);
  EXPECT_EQ(report.section, "micro_first");
  EXPECT_EQ(report.command, 1); // bucket, staging and a
  auto of = [&](ContentClass content) { return report.bytes[static_cast<unsigned>(content)]; };
  EXPECT_EQ(of(ContentClass::parameters), 1024 - 632 + 3 + 16);
  EXPECT_EQ(of(ContentClass::gradients), 512);
  EXPECT_EQ(of(ContentClass::optimizer), 512);
  EXPECT_EQ(of(ContentClass::activations), 16 + 4 + 500);
  EXPECT_EQ(of(ContentClass::buckets), 1024 - 632);
  EXPECT_EQ(of(ContentClass::staging), 512);
  EXPECT_EQ(of(ContentClass::workspace), 0);
  EXPECT_EQ(of(ContentClass::padding), 2 * 632 + 48 + 61 + 48 + 60 + 12);
}

TEST_F(Reports, StatesCountPaddingButNotFrozenTensors) {
  ModelStates report = computeStateReport(*module);
  EXPECT_EQ(report.parameters, 1024);
  EXPECT_EQ(report.gradients, 512);
  EXPECT_EQ(report.optimizer, 512);
}

TEST_F(Reports, TheFormulaIsTheDeclaredStates) {
  ModelStates formula = computeModelStates(*module);
  EXPECT_EQ(formula.parameters, 4 * 256);
  EXPECT_EQ(formula.gradients, 4 * 256 / 2);
  EXPECT_EQ(formula.optimizer, 4 * 256 / 2); // one momentum
}

TEST_F(Reports, TrafficIsSectionsTimesRuns) {
  CommunicationReport report = computeCommunicationReport(*module);
  EXPECT_EQ(report.reduceScatter, 3 * 512);
  EXPECT_EQ(report.allGather, 512);
  EXPECT_EQ(report.control, 4);
  EXPECT_EQ(report.total(), 4 * 512 + 4);
  int64_t sum = 0;
  for (const CollectiveTraffic &traffic : report.collectives)
    sum += traffic.bytesPerStep;
  EXPECT_EQ(sum, report.total());
  ASSERT_EQ(report.collectives.size(), 4u);
  EXPECT_EQ(report.collectives[1].section, "micro_next");
  EXPECT_EQ(report.collectives[1].perStep, 2);
}

TEST_F(Reports, TheTableSaysAllOfIt) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printReport(*module, os);
  for (const char *line : {"parameters: 2 with 98 elements in 1 bucket (256 elements with padding)",
                           "device bytes per rank at the peak (section micro_first, command 1)",
                           "  staging                      512\n", "  total                       4352\n",
                           "  reduce_scatter              1536\n", "  control                        4\n"})
    EXPECT_NE(text.find(line), std::string::npos) << line << "\nin\n" << text;
}

} // namespace
} // namespace zero
