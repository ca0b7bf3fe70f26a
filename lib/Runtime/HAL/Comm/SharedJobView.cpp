//===- SharedJobView.cpp - The view of ranks that are processes -----------===//
#include "lib/Runtime/HAL/Comm/SharedJobView.h"
#include "lib/Runtime/HAL/Comm/Machine.h"
#include <cerrno>
#include <cstring>
#include <fstream>
#include <new>
#include <poll.h>
#include <sstream>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace zero {
namespace {

RankState *mapState(int file) {
  void *base = ::mmap(nullptr, sizeof(RankState), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return base == MAP_FAILED ? nullptr : static_cast<RankState *>(base);
}

} // namespace

char processState(int process) {
  std::ifstream stat("/proc/" + std::to_string(process) + "/stat");
  std::string text((std::istreambuf_iterator<char>(stat)), {});
  size_t name = text.rfind(") "); // the name may hold anything
  return name == std::string::npos || name + 2 >= text.size() ? '\0' : text[name + 2];
}

Expected<std::unique_ptr<SharedJobView>> SharedJobView::create(unsigned rank, unsigned ranks, std::string machine) {
  int file = ::memfd_create("zero-rank", MFD_CLOEXEC);
  RankState *own = file >= 0 && ::ftruncate(file, sizeof(RankState)) == 0 ? mapState(file) : nullptr;
  if (!own)
    return Status::programFailed(std::string("cannot make memory for the state of this rank: ") + std::strerror(errno));
  std::vector<RankState *> states(ranks);
  states[rank] = new (own) RankState;
  return std::unique_ptr<SharedJobView>(new SharedJobView(rank, std::move(states), file, machine.empty() ? machineName() : std::move(machine)));
}

SharedJobView::~SharedJobView() {
  for (RankState *state : states)
    if (state)
      ::munmap(state, sizeof(RankState));
  for (const Process &process : processes)
    if (process.handle >= 0)
      ::close(process.handle);
  ::close(file);
}

std::string SharedJobView::introduction() const {
  return machine + " " + std::to_string(::getpid()) + " " + std::to_string(file);
}

void SharedJobView::meet(const std::vector<std::string> &introductions) {
  for (unsigned rank = 0; rank < introductions.size(); ++rank) {
    std::istringstream words(introductions[rank]);
    std::string there;
    int id = 0, theirs = -1;
    if (rank == self || !(words >> there >> id >> theirs) || there != machine)
      continue;
    processes[rank] = {id, static_cast<int>(::syscall(SYS_pidfd_open, id, 0))};
    int shared = openFileOf(id, theirs);
    if (shared < 0)
      continue; // another user's, or not to be seen from this container
    states[rank] = mapState(shared);
    ::close(shared);
  }
}

bool SharedJobView::processEnded(unsigned rank) const {
  pollfd handle = {processes[rank].handle, POLLIN, 0};
  return handle.fd >= 0 && ::poll(&handle, 1, 0) == 1;
}

bool SharedJobView::hasEnded(unsigned rank) const { return processEnded(rank) || JobView::hasEnded(rank); }

std::string SharedJobView::processText(unsigned rank) const {
  if (processes[rank].id == 0)
    return "";
  std::string text = "process " + std::to_string(processes[rank].id);
  if (processEnded(rank))
    return text + " has ended";
  char state = processState(processes[rank].id);
  return state == 'T' || state == 't' ? text + " is stopped" : text;
}

} // namespace zero
