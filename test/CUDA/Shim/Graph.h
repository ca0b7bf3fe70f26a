//===- Graph.h - What is captured from streams, and its replay ------------===//
#ifndef ZERO_TEST_CUDA_SHIM_GRAPH_H
#define ZERO_TEST_CUDA_SHIM_GRAPH_H

#include "test/CUDA/Shim/Handles.h"
#include "test/CUDA/Shim/Worker.h"
#include <thread>

namespace zero::shim {

class Context;
class Event;
class Stream;

using Run = std::function<CUresult()>;

struct GraphNode {
  std::string name;
  Run run;
  unsigned lane = 0; ///< number of the captured stream: nodes of one depend on each other in their order
  std::vector<unsigned> dependencies;
  std::shared_ptr<Event> records, waitsFor; ///< external events
};

struct Graph {
  Context *context = nullptr;
  std::vector<GraphNode> nodes;
  unsigned lanes = 0;
};

/// A capture under way. Guarded by the context's mutex.
class Capture {
public:
  Graph graph;
  const Stream *origin = nullptr;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::thread::id thread;
  std::vector<std::pair<Stream *, unsigned>> lanes;
  std::string invalidatedBy; ///< the call; empty: valid
  bool ended = false;

  void add(Stream &stream, GraphNode node);
  void join(Stream &stream, const std::vector<unsigned> &nodes);
  /// A node that the frontier does not depend on, by name; empty: there is none.
  std::string unjoined(const std::vector<unsigned> &frontier) const;
};

/// A graph that can be launched.
class GraphExec {
public:
  explicit GraphExec(std::shared_ptr<const Graph> graph);
  const std::shared_ptr<const Graph> graph;
  /// Work that runs the graph once. Called by the host, under the context's mutex.
  Run launch();

private:
  struct Replay;
  std::vector<std::shared_ptr<Worker>> workers; ///< of lanes 1, 2, ...
  std::shared_ptr<Completion> previous;
};

Handles<Graph> &graphs();
Handles<GraphExec> &graphExecs();

} // namespace zero::shim

#endif
