//===- compile-server.cpp - zero-compile many times, loaded once ----------===//
//
// Each line of standard input is a command line of zero-compile behind the file that takes what it prints, with tabs between the
// words. A process of its own runs it, forked when the libraries of LLVM and MLIR are loaded, which takes half of what a small model
// takes to compile. The answer is a line: the exit code, or minus the number of the signal that ended the process; SIGALRM where it
// took longer than a minute.
//
//===----------------------------------------------------------------------===//
#define main zeroCompileMain
#include "tools/zero-compile/zero-compile.cpp"
#undef main

#include <cstdio>
#include <fcntl.h>
#include <iostream>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr unsigned kSeconds = 60;

[[noreturn]] void compile(const std::string &log, std::vector<std::string> words) {
  int file = ::open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, 0666);
  if (file < 0 || ::dup2(file, STDOUT_FILENO) < 0 || ::dup2(file, STDERR_FILENO) < 0) {
    std::perror(log.c_str());
    ::_exit(125);
  }
  ::alarm(kSeconds);
  std::vector<char *> arguments;
  for (std::string &word : words)
    arguments.push_back(word.data());
  int code = zeroCompileMain(static_cast<int>(arguments.size()), (arguments.push_back(nullptr), arguments.data()));
  llvm::outs().flush();
  ::_exit(code);
}

} // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::vector<std::string> words;
    for (llvm::StringRef rest = line; !rest.empty();) {
      auto [word, behind] = rest.split('\t');
      words.push_back(word.str());
      rest = behind;
    }
    if (words.size() < 2) {
      std::fprintf(stderr, "compile-server: a line has %zu words, at least LOG and zero-compile are needed\n", words.size());
      return 2;
    }
    std::string log = words.front();
    words.erase(words.begin());
    pid_t child = ::fork();
    if (child == 0)
      compile(log, std::move(words));
    int status = 0;
    if (child < 0 || ::waitpid(child, &status, 0) != child) {
      std::perror("compile-server");
      return 1;
    }
    std::printf("%d\n", WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status));
    std::fflush(stdout);
  }
  return 0;
}
