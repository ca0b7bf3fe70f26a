//===- Graph.cpp - What is captured from streams, and its replay ----------===//
#include "test/CUDA/Shim/Graph.h"
#include "test/CUDA/Shim/Context.h"
#include <algorithm>

namespace zero::shim {

Handles<Graph> &graphs() {
  static auto *all = new Handles<Graph>("graph", 3);
  return *all;
}

Handles<GraphExec> &graphExecs() {
  static auto *all = new Handles<GraphExec>("executable graph", 4);
  return *all;
}

void Capture::add(Stream &stream, GraphNode node) {
  for (const auto &[member, lane] : lanes)
    if (member == &stream)
      node.lane = lane;
  node.dependencies = stream.frontier;
  stream.frontier = {static_cast<unsigned>(graph.nodes.size())};
  graph.nodes.push_back(std::move(node));
}

void Capture::join(Stream &stream, const std::vector<unsigned> &nodes) {
  bool known = false;
  for (const auto &[member, lane] : lanes)
    known |= member == &stream;
  if (!known)
    lanes.emplace_back(&stream, graph.lanes++);
  for (unsigned node : nodes)
    if (std::find(stream.frontier.begin(), stream.frontier.end(), node) == stream.frontier.end())
      stream.frontier.push_back(node);
}

std::string Capture::unjoined(const std::vector<unsigned> &frontier) const {
  std::vector<bool> reached(graph.nodes.size());
  for (unsigned node : frontier)
    reached[node] = true;
  // Dependencies have lower numbers.
  for (size_t node = graph.nodes.size(); node-- > 0;) {
    if (!reached[node])
      return graph.nodes[node].name;
    for (unsigned dependency : graph.nodes[node].dependencies)
      reached[dependency] = true;
  }
  return "";
}

/// One launch. Lanes run on threads of their own, as the streams did that were captured: so whatever the graph leaves open happens.
struct GraphExec::Replay {
  std::shared_ptr<const Graph> graph;
  std::shared_ptr<Completion> previous;
  std::vector<std::shared_ptr<Worker>> workers;
  std::vector<Completion> done;
  std::vector<Completion> laneDone;
  std::vector<std::shared_ptr<Completion>> recorded, awaited;
  std::shared_ptr<Completion> finished = std::make_shared<Completion>();

  explicit Replay(std::shared_ptr<const Graph> of)
      : graph(std::move(of)), done(graph->nodes.size()), laneDone(graph->lanes), recorded(graph->nodes.size()), awaited(graph->nodes.size()) {}

  void runNode(size_t number) {
    const GraphNode &node = graph->nodes[number];
    for (unsigned dependency : node.dependencies)
      if (graph->nodes[dependency].lane != node.lane)
        done[dependency].wait();
    if (awaited[number])
      awaited[number]->wait();
    if (node.run)
      graph->context->perform(node.run);
    if (recorded[number])
      recorded[number]->complete();
    done[number].complete();
  }

  static CUresult run(const std::shared_ptr<Replay> &replay) {
    if (replay->previous)
      replay->previous->wait();
    const size_t nodes = replay->graph->nodes.size();
    if (replay->workers.empty()) {
      for (size_t node = 0; node < nodes; ++node)
        replay->runNode(node);
    } else {
      // A task for each node, so that each may be held back.
      for (size_t node = 0; node < nodes; ++node)
        if (unsigned lane = replay->graph->nodes[node].lane)
          replay->workers[lane - 1]->push([replay, node] { replay->runNode(node); });
      for (unsigned lane = 1; lane < replay->graph->lanes; ++lane)
        replay->workers[lane - 1]->push([replay, lane] { replay->laneDone[lane].complete(); });
      for (size_t node = 0; node < nodes; ++node)
        if (!replay->graph->nodes[node].lane)
          replay->runNode(node);
      for (unsigned lane = 1; lane < replay->graph->lanes; ++lane)
        replay->laneDone[lane].wait();
    }
    replay->finished->complete();
    return CUDA_SUCCESS;
  }
};

GraphExec::GraphExec(std::shared_ptr<const Graph> of) : graph(std::move(of)) {
  if (Timing::fromSettings().mode != Timing::Mode::Serial)
    for (unsigned lane = 1; lane < graph->lanes; ++lane)
      workers.push_back(std::make_shared<Worker>());
}

Run GraphExec::launch() {
  auto replay = std::make_shared<Replay>(graph);
  replay->previous = previous;
  replay->workers = workers;
  previous = replay->finished;
  for (size_t node = 0; node < graph->nodes.size(); ++node) {
    if (Event *event = graph->nodes[node].waitsFor.get())
      replay->awaited[node] = event->recorded;
    if (Event *event = graph->nodes[node].records.get()) {
      replay->recorded[node] = std::make_shared<Completion>();
      event->recorded = replay->recorded[node];
      event->capture = nullptr;
    }
  }
  return [replay] { return Replay::run(replay); };
}

} // namespace zero::shim
