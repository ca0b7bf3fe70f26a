//===- SharedJobView.h - The view of ranks that are processes -------------===//
//
// A rank's state lies in a file in memory (memfd) that the ranks of the same machine map through /proc: it needs no name,
// outlives its process while a peer maps it, and leaves nothing behind.
//
//===----------------------------------------------------------------------===//
#ifndef ZERO_LIB_RUNTIME_HAL_COMM_SHAREDJOBVIEW_H
#define ZERO_LIB_RUNTIME_HAL_COMM_SHAREDJOBVIEW_H

#include "zero/Runtime/HAL/JobView.h"
#include <memory>

namespace zero {

class SharedJobView final : public JobView {
public:
  /// Sees this rank alone until `meet`.
  /// `machine`: what tells machines apart (empty: machineName).
  static Expected<std::unique_ptr<SharedJobView>> create(unsigned rank, unsigned ranks, std::string machine = "");
  ~SharedJobView() override;

  /// What the peers need to see this rank.
  std::string introduction() const;
  /// Maps the states of those that are on this machine; the others stay unknown.
  void meet(const std::vector<std::string> &introductions);

  bool hasEnded(unsigned rank) const override;
  /// The process of a rank of this machine; 0 of others, and of this rank itself.
  int processOf(unsigned rank) const { return processes[rank].id; }

private:
  struct Process {
    int id = 0;     ///< 0: not on this machine
    int handle = -1; ///< a pidfd: readable once the process has ended
  };
  SharedJobView(unsigned rank, std::vector<RankState *> states, int file, std::string machine)
      : JobView(rank, std::move(states)), file(file), machine(std::move(machine)), processes(size()) {}
  std::string processText(unsigned rank) const override;
  bool processEnded(unsigned rank) const;

  int file;
  std::string machine;
  std::vector<Process> processes;
};

/// The state of a process as /proc says it ('R', 'S', 'T', 'Z', ...); 0 where there is none.
char processState(int process);

} // namespace zero

#endif
