//===- ReportPage.cpp - A plan's report as one HTML page ------------------===//
//
// The page draws itself from the report's JSON, in which long sections are coarser: `bars` of neighbouring commands instead
// of `commands`, `live_columns` instead of `live_bytes_by_class`.
//
//===----------------------------------------------------------------------===//
#include "lib/Analysis/ReportJson.h"
#include <numeric>

using namespace mlir;
using llvm::json::OStream;

namespace zero {
namespace {

constexpr StringLiteral kPage =
#include "ReportPage.inc"
    ;

/// More than a screen can show, less than a phone cannot draw.
constexpr int64_t kMostColumns = 240, kMostBars = 500;

/// Neighbouring commands of a queue.
struct Bar {
  size_t first, last, longest;
  int64_t start, end, flops, moved, wire;
};

class PageReport final : public ReportWriter {
public:
  using ReportWriter::ReportWriter;

private:
  /// Rows: first and last command, the one with most alive, its title, its bytes by class, when it starts.
  void writeLiveBytes(const ArenaDetail &arena) override {
    size_t commands = 0;
    for (const ReportSection &section : report.sections)
      commands += section.commands.size();
    size_t each = (commands + kMostColumns - 1) / kMostColumns;
    auto total = [](const BytesByClass &bytes) { return std::accumulate(bytes.begin(), bytes.end(), int64_t(0)); };
    json.attributeObject("live_columns", [&] {
      for (auto [section, rows] : llvm::zip(report.sections, arena.live))
        json.attributeArray(section.name, [&, &section = section, &rows = rows] {
          for (size_t first = 0; first < rows.size(); first += each) {
            size_t last = std::min(first + each, rows.size()) - 1, most = first;
            for (size_t command = first; command <= last; ++command)
              if (total(rows[command]) > total(rows[most]))
                most = command;
            writeRow(json, [&](OStream &row) {
              row.array([&] {
                for (size_t number : {first, last, most})
                  row.value(static_cast<int64_t>(number));
                row.value(section.commands[most].title);
                row.array([&] {
                  for (int64_t bytes : rows[most])
                    row.value(bytes);
                });
                row.value(section.commands[most].time.start);
              });
            });
          }
        });
    });
  }

  /// Commands that are too short to be seen are one bar with their neighbours.
  static std::vector<Bar> makeBars(const ReportSection &section) {
    std::vector<Bar> bars;
    llvm::StringMap<size_t> open; // queue -> its last bar
    bool all = section.commands.size() <= kMostBars;
    int64_t shortest = section.getDuration() / kMostBars;
    for (auto [index, command] : llvm::enumerate(section.commands)) {
      int64_t moved = command.cost.bytesRead + command.cost.bytesWritten;
      auto [last, first] = open.try_emplace(command.queue, bars.size());
      Bar *bar = first ? nullptr : &bars[last->second];
      if (bar && !all && command.time.end() - bar->start <= shortest) {
        if (command.time.duration > section.commands[bar->longest].time.duration)
          bar->longest = index;
        bar->last = index;
        bar->end = command.time.end();
        bar->flops += command.cost.flops;
        bar->moved += moved;
        bar->wire += command.cost.wireBytes;
        continue;
      }
      last->second = bars.size();
      bars.push_back({index, index, index, command.time.start, command.time.end(), command.cost.flops, moved, command.cost.wireBytes});
    }
    return bars;
  }

  void writeCommands(const ReportSection &section) override {
    json.attributeArray("bars", [&] {
      for (const Bar &bar : makeBars(section)) {
        const ReportCommand &longest = section.commands[bar.longest];
        writeRow(json, [&](OStream &row) {
          row.object([&] {
            row.attribute("queue", longest.queue);
            row.attribute("kind", longest.kind);
            row.attribute("title", bar.first == bar.last ? longest.title : longest.title + " and others");
            row.attribute("first", static_cast<int64_t>(bar.first));
            row.attribute("last", static_cast<int64_t>(bar.last));
            row.attribute("start_ns", bar.start);
            row.attribute("duration_ns", bar.end - bar.start);
            row.attribute("flops", bar.flops);
            row.attribute("moved_bytes", bar.moved);
            row.attribute("wire_bytes", bar.wire);
          });
        });
      }
    });
  }
};

} // namespace

void writeReportPage(const PlanReport &report, raw_ostream &os) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  OStream json(stream);
  PageReport(report, json).write();
  auto [before, after] = kPage.split("@REPORT@");
  os << before;
  // No name of the model may end the element that holds it.
  for (StringRef rest = text; !rest.empty();) {
    auto [clean, more] = rest.split('<');
    os << clean;
    if (clean.size() < rest.size())
      os << "\\u003c";
    rest = more;
  }
  os << after;
}

} // namespace zero
