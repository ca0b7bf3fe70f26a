//===- DropWaits.cpp - A program that lacks an order ----------------------===//
//
// DropWaits IN.bin OUT.bin list             prints "SECTION COMMAND" for each command that waits for events
// DropWaits IN.bin OUT.bin SECTION COMMAND  writes the program with that command waiting for nothing
//
// No compile lets such a program out (plan-verify refuses it): it is to be seen that the simulated driver's timings tell it from the
// right one.
//
//===----------------------------------------------------------------------===//
#include "zero/Container/Container.h"
#include "zero/Container/PlanView.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace zero;

static Status drop(const char *in, const char *out, const std::string &sectionName, const char *command) {
  ZERO_ASSIGN_OR_RETURN(Container container, Container::open(in));
  std::unique_ptr<schema::PlanT> plan(container.plan().UnPack());
  if (sectionName == "list") {
    for (const auto &section : plan->sections)
      for (size_t i = 0; i < section->commands.size(); ++i)
        if (!section->commands[i]->waits.empty())
          std::printf("%s %zu\n", section->name.c_str(), i);
    return {};
  }
  size_t dropped = 0;
  for (auto &section : plan->sections)
    if (section->name == sectionName && command) {
      auto &waits = section->commands.at(std::strtoul(command, nullptr, 10))->waits;
      dropped += waits.size();
      waits.clear();
    }
  if (!dropped)
    return Status::wrongUsage("no event is waited for there");
  flatbuffers::FlatBufferBuilder builder;
  schema::FinishPlanBuffer(builder, schema::Plan::Pack(builder, plan.get()));
  ContainerWriter writer;
  for (const Container::Section &section : container.sections()) {
    ZERO_ASSIGN_OR_RETURN(std::string bytes, container.read(section));
    if (section.kind == SectionKind::Plan)
      bytes.assign(reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize());
    writer.addSection(section.kind, section.label, std::move(bytes));
  }
  return writer.write(out);
}

int main(int argc, char **argv) {
  Status status = argc < 4 ? Status::wrongUsage("DropWaits IN.bin OUT.bin list|SECTION [COMMAND]")
                           : drop(argv[1], argv[2], argv[3], argc > 4 ? argv[4] : nullptr);
  if (!status.ok())
    std::fprintf(stderr, "DropWaits: %s\n", status.message().c_str());
  return status.exitCode();
}
