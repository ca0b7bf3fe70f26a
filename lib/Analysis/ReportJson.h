//===- ReportJson.h - The parts of a report as JSON -----------------------===//
#ifndef ZERO_LIB_ANALYSIS_REPORTJSON_H
#define ZERO_LIB_ANALYSIS_REPORTJSON_H

#include "zero/Analysis/PlanReport.h"

namespace zero {

/// Writes one row of a long list on a line of its own.
void writeRow(llvm::json::OStream &json, llvm::function_ref<void(llvm::json::OStream &)> write);
void writeClasses(llvm::json::OStream &json, llvm::StringRef key, const BytesByClass &bytes);

/// Writes a report; what grows with the number of commands is left to the two forms.
class ReportWriter {
public:
  ReportWriter(const PlanReport &report, llvm::json::OStream &json) : report(report), json(json) {}
  virtual ~ReportWriter() = default;
  void write();

protected:
  /// `live_bytes_by_class` of an arena.
  virtual void writeLiveBytes(const ArenaDetail &arena) = 0;
  /// `commands` of a section.
  virtual void writeCommands(const ReportSection &section) = 0;

  const PlanReport &report;
  llvm::json::OStream &json;

private:
  void writeModel();
  void writeParameters();
  void writeMemory();
  void writeStates();
  void writeTraffic();
  void writeFlops();
  void writeTimeline();
};

} // namespace zero

#endif
