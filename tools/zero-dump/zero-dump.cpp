//===- zero-dump.cpp - Prints a compiled program --------------------------===//
#include "zero/Container/Dump.h"
#include "zero/Runtime/Base/NearestName.h"
#include "zero/Runtime/Base/OutputFile.h"
#include <CLI/CLI.hpp>
#include <cstdio>

using namespace zero;

static int fail(const Status &status) {
  std::fflush(stdout);
  std::fprintf(stderr, "zero-dump: %s\n", status.message().c_str());
  return status.exitCode();
}

static Status usageError(const CLI::App &app, const std::string &message) {
  if (app.remaining_size() == 0)
    return Status::wrongUsage(message + "; see zero-dump --help");
  std::string argument = app.remaining().front();
  argument = argument.substr(0, argument.find('='));
  if (!argument.starts_with("-"))
    return Status::wrongUsage("unexpected argument '" + argument + "'; one program is printed at a time");
  std::vector<std::string> known;
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames())
      known.push_back("--" + name);
  return Status::wrongUsage("unknown flag '" + argument + "'; the nearest known one is '" + nearestName(argument, known) + "'");
}

int main(int argc, char **argv) {
  std::string program, parameter;
  bool commands = false, buffers = false, collectives = false, config = false;
  unsigned rank = 0;
  CLI::App app("Prints what a compiled program is: zero-dump compiled.bin", "zero-dump");
  app.set_version_flag("--version", "zero-dump " ZERO_VERSION);
  app.set_help_flag("--help,-h", "Print this and exit");
  app.allow_extras();
  app.add_option("program", program, "compiled.bin, as zero-compile writes it")->type_name("FILE")->required();
  app.add_flag("--commands", commands, "Every command in order, with its events, and what it reads and writes (default: a summary)");
  app.add_flag("--buffers", buffers, "Arenas, buffers, each parameter's place in its bucket, and states (default: a summary)");
  app.add_flag("--collectives", collectives, "Every collective and what it sends (default: a summary)");
  app.add_flag("--config", config, "The effective configuration (default: a summary)");
  CLI::Option *parameterOption = app.add_option("--parameter", parameter, "Where a parameter lies on a rank, and the values of a trained one (default: a summary)")->type_name("NAME");
  CLI::Option *rankOption = app.add_option("--rank", rank, "The rank of --parameter (default: 0)")->type_name("R");
  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForHelp &) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::CallForVersion &) {
    std::puts("zero-dump " ZERO_VERSION);
    return 0;
  } catch (const CLI::ParseError &error) {
    return fail(usageError(app, error.what()));
  }
  if (app.remaining_size())
    return fail(usageError(app, ""));
  if (rankOption->count() && !parameterOption->count())
    return fail(Status::wrongUsage("--rank is of --parameter, which is not given"));

  auto container = Container::open(program);
  if (!container.ok())
    return fail(container.status());
  std::string text;
  if (commands)
    text += dumpCommands(*container);
  if (buffers)
    text += dumpBuffers(*container);
  if (collectives)
    text += dumpCollectives(*container);
  if (config) {
    auto found = dumpConfig(*container);
    if (!found.ok())
      return fail(found.status());
    text += *found;
  }
  if (parameterOption->count()) {
    auto found = dumpParameter(*container, parameter, rank);
    if (!found.ok())
      return fail(found.status());
    text += *found;
  }
  if (text.empty())
    text = dumpSummary(*container);
  Status written = writeOutput("-", text);
  return written.ok() ? 0 : fail(written);
}
