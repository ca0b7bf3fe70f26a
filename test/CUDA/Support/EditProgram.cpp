//===- EditProgram.cpp - A program that no compile lets out ---------------===//
//
// EditProgram IN.bin list-waits                         prints "SECTION COMMAND" for each command that waits for events
// EditProgram IN.bin OUT.bin drop-waits SECTION COMMAND that command waits for nothing
// EditProgram IN.bin list-carried                       the same of events of the update before
// EditProgram IN.bin OUT.bin drop-carried SECTION COMMAND
// EditProgram IN.bin list-early                         of commands that are submitted in the update before, behind more than its first event
// EditProgram IN.bin OUT.bin hasten-early SECTION COMMAND that command waits there for the first event alone
// EditProgram IN.bin OUT.bin rename-kernels             generated kernels are called as the code does not call them
// EditProgram IN.bin OUT.bin launch-nothing             they are launched with no blocks
// EditProgram IN.bin OUT.bin overlap-copy               the first command of micro_first copies bytes onto themselves, further on
// EditProgram IN.bin OUT.bin pin-arena                  it has another arena, in memory of the host
//
// Compilers refuse these (plan-verify): it is to be seen what the runtime and the simulated driver make of them.
//
//===----------------------------------------------------------------------===//
#include "zero/Container/Container.h"
#include "zero/Container/PlanView.h"
#include <cstdio>
#include <cstdlib>

using namespace zero;

static int fail(const std::string &message) {
  std::fprintf(stderr, "EditProgram: %s\n", message.c_str());
  return 3;
}

static std::string edit(schema::PlanT &plan, const std::string &what, const std::string &sectionName, size_t number) {
  for (auto &section : plan.sections) {
    if (what == "drop-waits" && section->name == sectionName) {
      if (number >= section->commands.size() || section->commands[number]->waits.empty())
        return "that command waits for no event";
      section->commands[number]->waits.clear();
      return "";
    }
    if (what == "drop-carried" && section->name == sectionName) {
      if (number >= section->commands.size() || section->commands[number]->carried.empty())
        return "that command waits for no event of the update before";
      section->commands[number]->carried.clear();
      return "";
    }
    if (what == "hasten-early" && section->name == sectionName) {
      if (number >= section->commands.size() || section->commands[number]->early.empty())
        return "that command is not early";
      section->commands[number]->early = {0};
      return "";
    }
    if (what == "overlap-copy" && section->name == "micro_first") {
      auto &command = *section->commands.front();
      const schema::Slice whole(0, 0, plan.buffers.front()->size_bytes, 0);
      schema::CopyT copy;
      copy.source = std::make_unique<schema::Slice>(whole.buffer(), 0, whole.size() / 2, 0);
      copy.target = std::make_unique<schema::Slice>(whole.buffer(), whole.size() / 4, whole.size() / 2, 0);
      command.action.Set(std::move(copy));
      return "";
    }
  }
  if (what == "pin-arena") {
    auto &arena = *plan.arenas.emplace_back(std::make_unique<schema::ArenaT>());
    arena.name = "host";
    arena.kind = schema::MemoryKind::host_pinned;
    arena.size_bytes = 4096;
    return "";
  }
  bool changed = false;
  for (auto &kernel : plan.kernels)
    if (kernel->generated && (what == "rename-kernels" || what == "launch-nothing")) {
      changed = true;
      if (what == "rename-kernels")
        kernel->name += "_unheard_of";
      else
        kernel->grid_blocks = 0;
    }
  return changed ? "" : "nothing to change";
}

int main(int argc, char **argv) {
  if (argc < 3)
    return fail("see the head of EditProgram.cpp");
  auto container = Container::open(argv[1]);
  if (!container.ok())
    return fail(container.status().message());
  std::unique_ptr<schema::PlanT> plan(container->plan().UnPack());
  for (auto [name, events] : {std::pair("list-waits", &schema::CommandT::waits), std::pair("list-carried", &schema::CommandT::carried),
                              std::pair("list-early", &schema::CommandT::early)}) {
    if (std::string(argv[2]) != name)
      continue;
    for (const auto &section : plan->sections)
      for (size_t i = 0; i < section->commands.size(); ++i)
        if (const std::vector<uint32_t> &list = section->commands[i].get()->*events; !list.empty() && !(events == &schema::CommandT::early && list == std::vector<uint32_t>{0}))
          std::printf("%s %zu\n", section->name.c_str(), i);
    return 0;
  }
  std::string wrong = argc < 4 ? "what is to be edited is not said" : edit(*plan, argv[3], argc > 4 ? argv[4] : "", argc > 5 ? std::strtoul(argv[5], nullptr, 10) : 0);
  if (!wrong.empty())
    return fail(wrong);
  flatbuffers::FlatBufferBuilder builder;
  schema::FinishPlanBuffer(builder, schema::Plan::Pack(builder, plan.get()));
  ContainerWriter writer;
  for (const Container::Section &section : container->sections()) {
    auto bytes = container->read(section);
    if (!bytes.ok())
      return fail(bytes.status().message());
    if (section.kind == SectionKind::Plan)
      bytes->assign(reinterpret_cast<const char *>(builder.GetBufferPointer()), builder.GetSize());
    writer.addSection(section.kind, section.label, std::move(*bytes));
  }
  Status written = writer.write(argv[2]);
  return written.ok() ? 0 : fail(written.message());
}
