//===- zero-damage.cpp - Every number of a plan, wrong --------------------===//
//
//   zero-damage PROGRAM DATA.npz FOLDER [EVERY [FIRST]]
//
// Changes each number of the records of PROGRAM's plan in several ways, one at a time, and repairs the checksums. The file must be refused
// by the verifier, or by whoever starts a job with it, with a message; or the job must come to an end, by its timeout where a number makes
// ranks disagree on what the plan proves alike (whether a step's loss is finite). What ends a process by a signal, waits for ever or says
// nothing is counted as a failure and named. EVERY: only each so many-th change (from FIRST on).
//
//===----------------------------------------------------------------------===//
#include "test/Runtime/Damage/PlanNumbers.h"
#include "test/Unit/Support/TinyPlan.h"
#include "zero/Container/Container.h"
#include "zero/Runtime/Executor/Training.h"
#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstring>
#include <ctime>
#include <iostream>
#include <map>
#include <set>
#include <sys/wait.h>
#include <thread>

using namespace zero;
using test::PlanNumber;

namespace {

constexpr unsigned kSeconds = 60; // of the processor and of a wait, after which a job counts as stuck

/// What the number may become; as many low bytes of each as it has.
std::vector<uint64_t> wrongValues(const PlanNumber &number, uint64_t value) {
  if (number.isFlag)
    return {value ? 0u : 1u};
  if (number.isReal) {
    std::vector<uint64_t> bits;
    for (double real : {0.0, -1.0, 1e300, std::nan(""), double(INFINITY)})
      if (float narrow = static_cast<float>(real); number.bytes == sizeof(float))
        bits.push_back(std::bit_cast<uint32_t>(narrow));
      else
        bits.push_back(std::bit_cast<uint64_t>(real));
    return bits;
  }
  if (number.isCount) // more than there are would be other records' bytes, which FlatBuffers' own verifier judges
    return {0, value - 1, value / 2, value + 1, ~uint64_t(0)};
  return {0, 1, 2, value + 1, value - 1, value + 4, value + 64, value * 2, value / 2, uint64_t(1) << 31, uint64_t(1) << 40, (~uint64_t(0)) >> 1, ~uint64_t(0)};
}

class Damage {
public:
  Damage(Container container, std::string data, std::string folder) : container(std::move(container)), data(std::move(data)), folder(std::move(folder)) {}

  int run(uint64_t every, uint64_t first) {
    std::unique_ptr<schema::PlanT> plan(container.plan().UnPack());
    flatbuffers::FlatBufferBuilder builder;
    builder.ForceDefaults(true);
    schema::FinishPlanBuffer(builder, schema::Plan::Pack(builder, plan.get()));
    records.assign(reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize());
    std::vector<PlanNumber> numbers = test::findPlanNumbers(test::readFile(ZERO_PLAN_SCHEMA), records);
    if (Status status = start(records); !status.ok()) {
      std::cout << "zero-damage: the program itself does not run: " << status.message() << "\n";
      return 1;
    }
    uint64_t index = 0;
    for (const PlanNumber &number : numbers) {
      uint64_t value = 0;
      std::memcpy(&value, records.data() + number.offset, number.bytes);
      std::set<uint64_t> seen = {value};
      for (uint64_t wrong : wrongValues(number, value)) {
        wrong &= number.bytes < 8 ? (uint64_t(1) << (8 * number.bytes)) - 1 : ~uint64_t(0);
        if (seen.insert(wrong).second && index++ % every == first)
          judge(number, value, wrong);
      }
    }
    std::cout << numbers.size() << " numbers, " << changes << " changes: " << refused << " refused by the verifier, " << stopped
              << " by the job, " << timedOut << " by its timeout, " << ended << " ran to the end, " << failures << " failures\n";
    return failures ? 1 : 0;
  }

private:
  void judge(const PlanNumber &number, uint64_t value, uint64_t wrong) {
    ++changes;
    std::string damaged = records;
    std::memcpy(damaged.data() + number.offset, &wrong, number.bytes);
    auto size = [&](SectionKind kind) { return container.find(kind) ? container.find(kind)->size : 0; };
    std::string name = number.path + " = " + std::to_string(wrong) + " (was " + std::to_string(value) + ")";
    if (Status status = verifyPlanRecords(damaged, size(SectionKind::Weights), size(SectionKind::Frozen)); !status.ok()) {
      ++refused;
      if (status.message().empty() || status.code() != ErrorCode::BadInput)
        fail(name, "refused without a reason");
      return;
    }
    Status status = start(damaged);
    if (status.ok())
      ++ended;
    else if (status.code() == ErrorCode::BadInput || status.code() == ErrorCode::ProgramFailed)
      ++stopped;
    else if (status.message().find("timed out after") != std::string::npos && status.message().find("still waiting for rank") != std::string::npos)
      ++timedOut;
    else
      fail(name, status.message());
  }

  void fail(const std::string &what, const std::string &why) {
    ++failures;
    std::cout << "FAILED: " << what << ": " << why << std::endl;
  }

  /// Runs a step of the program with these records in a process of its own. Not ok with another code than zero-run's 1 and 3 is a failure.
  Status start(const std::string &plan) {
    std::string path = folder + "/damaged.bin", messages = folder + "/messages.txt";
    ContainerWriter writer;
    for (const Container::Section &section : container.sections()) {
      auto bytes = section.kind == SectionKind::Plan ? Expected<std::string>(plan) : container.read(section);
      writer.addSection(section.kind, section.label, std::move(*bytes));
    }
    if (Status status = writer.write(path); !status.ok())
      return Status(ErrorCode::Communication, status.message());
    std::cout.flush();
    pid_t child = ::fork();
    if (child == 0) {
      ::alarm(kSeconds);
      std::freopen("/dev/null", "w", stdout);
      std::freopen(messages.c_str(), "w", stderr);
      TrainingOptions training;
      training.program = path;
      training.data.path = data;
      training.steps = 1;
      auto opened = Container::open(path);
      unsigned ranks = opened.ok() ? std::min(opened->plan().world_size(), 4u) : 1;
      Training job(training);
      JobOptions options;
      options.timeoutSeconds = kSeconds / 3;
      options.report = [](const Status &status) { std::fprintf(stderr, "%s\n", status.message().c_str()); };
      int code = runLoopback(ranks, options, [&](Bootstrap &bootstrap) { return job.run(bootstrap); });
      std::fflush(nullptr);
      std::_Exit(code);
    }
    int how = 0;
    ::waitpid(child, &how, 0);
    std::string said = test::readFile(messages);
    if (WIFSIGNALED(how))
      return Status(ErrorCode::Communication, "ended by signal " + std::to_string(WTERMSIG(how)) + ": " + said);
    switch (WEXITSTATUS(how)) {
    case 0:
      return {};
    case 1:
    case 3:
      return said.empty() ? Status(ErrorCode::Communication, "failed without a word")
                          : Status(WEXITSTATUS(how) == 1 ? ErrorCode::ProgramFailed : ErrorCode::BadInput, said);
    default:
      return Status(ErrorCode::Communication, "exit code " + std::to_string(WEXITSTATUS(how)) + ": " + said);
    }
  }

  Container container;
  std::string data, folder, records;
  uint64_t changes = 0, refused = 0, stopped = 0, timedOut = 0, ended = 0, failures = 0;
};

} // namespace

int main(int argc, char **argv) {
  if (argc < 4 || argc > 6) {
    std::cerr << "usage: zero-damage PROGRAM DATA.npz FOLDER [EVERY [FIRST]]\n";
    return 2;
  }
  auto container = Container::open(argv[1]);
  if (!container.ok()) {
    std::cerr << "zero-damage: " << container.status().message() << "\n";
    return 3;
  }
  uint64_t every = argc > 4 ? std::strtoull(argv[4], nullptr, 10) : 1, first = argc > 5 ? std::strtoull(argv[5], nullptr, 10) : 0;
  return Damage(std::move(*container), argv[2], argv[3]).run(std::max<uint64_t>(every, 1), first);
}
