//===- Recurrent.cpp - LSTM, GRU and RNN, one step after the other --------===//
//
// The products of the inputs with W, of all steps, are one matmul; what is left of a step reads its rows of
// it. With G gates, D directions, H hidden units, T steps, B sequences and I inputs:
//
//   all = reshape(X, [T*B, I]) W^T + bias              // [T*B, G*H]
//   each step: gates = all[t] + h R^T;  h = cell(gates, h)
//
// The state lives in row-major B x H, so that the steps of the output stand one behind the other.
//
//===----------------------------------------------------------------------===//
#include "CellActivation.h"
#include "OperatorTable.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

/// Steps of all directions that one node may unroll: a bound on the program's size and the compiler's time.
constexpr int64_t kMaxSteps = 1024;

/// One direction: what its steps read.
struct Direction {
  bool reverse = false;
  Tensor inputs;                   // T x B x G*H
  Tensor recurrence;               // R: G*H x H
  std::optional<Tensor> bias;      // of the recurrence: G*H
  std::optional<Tensor> peepholes; // 3*H
  ArrayRef<CellActivation> activations;
  SmallVector<Tensor> states;   // h and, for an LSTM, c: B x H
  std::optional<Tensor> output; // T x B x H
};

class Recurrence {
public:
  Recurrence(NodeContext &node, int64_t gates, ArrayRef<StringRef> activations, unsigned states)
      : node(node), gates(gates), activationNames(activations), stateCount(states) {}
  virtual ~Recurrence() = default;

  LogicalResult build() {
    if (failed(readSizes()) || failed(readLengths()))
      return failure();
    FailureOr<SmallVector<CellActivation>> activations =
        readActivations(node, activationNames, directionCount);
    if (failed(activations))
      return failure();
    SmallVector<Direction, 0> directions(directionCount);
    for (auto [index, direction] : llvm::enumerate(directions)) {
      direction.reverse = reverses || index == 1;
      direction.activations =
          ArrayRef(*activations).slice(index * activationNames.size(), activationNames.size());
      if (failed(readWeights(direction, static_cast<int64_t>(index))) ||
          failed(readStates(direction, static_cast<int64_t>(index))))
        return failure();
      runSteps(direction);
    }
    return setResults(directions);
  }

protected:
  /// The states after a step whose rows of the input product are `input` (B x G*H).
  virtual SmallVector<Tensor> step(Direction &direction, const Tensor &input) = 0;
  /// Splits the biases of input and recurrence (G*H each): what is added to all input products, and what a
  /// step adds to the recurrence's.
  virtual void setBiases(Direction &, Tensor &input, std::optional<Tensor> &recurrence) {
    input = node.binary<nn::AddOp>(input, *recurrence);
    recurrence = std::nullopt;
  }
  virtual LogicalResult readMore(Direction &, int64_t) { return success(); }

  Tensor matmul(const Tensor &x, const Tensor &weight) {
    return node.make<nn::MatmulOp>(Dims{x.shape[0], weight.shape[0]}, x.elementType(), x.value, weight.value,
                                   /*transpose_lhs=*/false, /*transpose_rhs=*/true);
  }
  /// Columns of a B x n tensor, or elements of a vector.
  Tensor columns(const Tensor &x, int64_t begin, int64_t size) {
    if (x.shape.back().is(size))
      return x;
    SmallVector<int64_t> starts(x.rank(), 0), strides(x.rank(), 1);
    starts.back() = begin;
    Dims shape = x.shape;
    shape.back() = Dim(size);
    return node.slice(x, starts, strides, std::move(shape));
  }
  Tensor gate(const Tensor &x, int64_t index, int64_t count = 1) {
    return columns(x, index * hidden, count * hidden);
  }
  /// `row` repeated to the shape of x, whose last dimension it is.
  Tensor rows(const Tensor &row, const Tensor &x) {
    return node.broadcastTo(row, x.shape, [&] { return node.shapeOf(x); });
  }
  Tensor number(double value, const Tensor &x) { return rows(node.splat(value, x.elementType()), x); }
  /// The activation of x, which is clipped first where the node says so.
  Tensor activate(const CellActivation &activation, Tensor x) {
    if (clip)
      x = node.binary<nn::MinOp>(node.binary<nn::MaxOp>(x, number(-*clip, x)), number(*clip, x));
    return activation(node, x);
  }

  NodeContext &node;
  int64_t hidden = 0;
  int64_t directionCount = 1;

private:
  FailureOr<Tensor> checkedInput(unsigned index, StringRef name, Dims shape) {
    FailureOr<Tensor> tensor = node.input(index);
    if (failed(tensor))
      return failure();
    bool fits = tensor->shape.size() == shape.size();
    for (size_t i = 0; fits && i < shape.size(); ++i)
      fits = tensor->shape[i] == shape[i] || !tensor->shape[i].isStatic() || !shape[i].isStatic();
    if (!fits || tensor->elementType() != x.elementType()) {
      node.error() << name << " has type " << tensor->type() << ", not "
                   << node.tensorType(shape, x.elementType());
      return failure();
    }
    return tensor;
  }

  /// The part of a tensor that belongs to one direction, without that dimension.
  Tensor ofDirection(const Tensor &x, int64_t index) {
    Dims shape(ArrayRef(x.shape).drop_front());
    Tensor part = x;
    if (!x.shape[0].is(1)) {
      SmallVector<int64_t> starts(x.rank(), 0), strides(x.rank(), 1);
      starts[0] = index;
      Dims one = x.shape;
      one[0] = Dim(1);
      part = node.slice(x, starts, strides, std::move(one));
    }
    return node.reshape(part, std::move(shape));
  }

  LogicalResult readSizes() {
    std::string direction = node.stringAttribute("direction", "forward");
    if (direction != "forward" && direction != "reverse" && direction != "bidirectional")
      return node.error() << "direction '" << direction << "' is not forward, reverse or bidirectional";
    reverses = direction == "reverse";
    directionCount = direction == "bidirectional" ? 2 : 1;
    batchFirst = node.intAttribute("layout", 0) != 0;
    if (node.attribute("clip"))
      clip = node.floatAttribute("clip", 0);
    FailureOr<Tensor> given = node.input(0), weight = node.input(1), recurrence = node.input(2);
    if (failed(given) || failed(weight) || failed(recurrence))
      return failure();
    if (given->rank() != 3 || !isa<FloatType>(given->elementType()))
      return node.error() << "needs a tensor of floats of rank 3, not " << given->type();
    x = batchFirst ? node.transpose(*given, {1, 0, 2}) : *given;
    if (!x.shape[0].isStatic())
      return node.error() << "unrolls its steps, and their number (dimension " << (batchFirst ? 1 : 0)
                          << " of X, " << given->type()
                          << ") is not known: give the dimension a size with --dim NAME=VALUE"
                          << (batchFirst ? "" : ", and export with the batch in front (batch_first)");
    steps = x.shape[0].value();
    if (steps * directionCount > kMaxSteps)
      return node.error() << "unrolls " << steps * directionCount << " steps, more than " << kMaxSteps;
    if (recurrence->rank() != 3 || !recurrence->shape[2].isStatic() || !x.shape[2].isStatic())
      return node.error() << "needs known sizes of inputs and state, not X of type " << given->type()
                          << " and R of type " << recurrence->type();
    hidden = recurrence->shape[2].value();
    if (int64_t given = node.intAttribute("hidden_size", hidden); given != hidden)
      return node.error() << "has hidden_size=" << given << " and R of type " << recurrence->type();
    if (failed(checkedInput(1, "W", {Dim(directionCount), Dim(gates * hidden), x.shape[2]})))
      return failure();
    return checkedInput(2, "R", {Dim(directionCount), Dim(gates * hidden), Dim(hidden)});
  }

  /// Lengths that are known to be T are none.
  LogicalResult readLengths() {
    if (!node.has(4))
      return success();
    FailureOr<Tensor> given = node.input(4);
    if (failed(given))
      return failure();
    if (given->rank() != 1 || !given->elementType().isSignlessInteger() ||
        given->elementType().isInteger(1) ||
        (given->shape[0] != x.shape[1] && given->shape[0].isStatic() && x.shape[1].isStatic()))
      return node.error() << "sequence_lens has type " << given->type() << ", not "
                          << node.tensorType({x.shape[1]}, node.builder.getI32Type());
    if (const reference::HostTensor *known = node.known(*given)) {
      bool areWhole = true;
      for (int64_t i = 0; i < known->getNumElements(); ++i) {
        int64_t length = known->getInt(i);
        if (length < 0 || length > steps)
          return node.error() << "sequence_lens has the length " << length << ", but X has " << steps
                              << " steps";
        areWhole &= length == steps;
      }
      if (areWhole)
        return success();
    }
    lengths = *given;
    return success();
  }

  LogicalResult readWeights(Direction &direction, int64_t index) {
    direction.recurrence = ofDirection(node.inputs[2]->tensors.front(), index);
    Dim rowCount = node.extent(x, 0, 2);
    Tensor flat = node.reshape(x, {rowCount, x.shape[2]});
    Tensor product = matmul(flat, ofDirection(node.inputs[1]->tensors.front(), index));
    if (node.has(3)) {
      FailureOr<Tensor> biases = checkedInput(3, "B", {Dim(directionCount), Dim(2 * gates * hidden)});
      if (failed(biases))
        return failure();
      Tensor both = ofDirection(*biases, index);
      Tensor bias = gate(both, 0, gates);
      direction.bias = gate(both, gates, gates);
      setBiases(direction, bias, direction.bias);
      product = node.binary<nn::AddOp>(product, rows(bias, product));
    }
    direction.inputs = node.reshape(product, {Dim(steps), x.shape[1], Dim(gates * hidden)}, {x});
    return readMore(direction, index);
  }

  /// The initial states, zeros where they are left out.
  LogicalResult readStates(Direction &direction, int64_t index) {
    Dims shape{x.shape[1], Dim(hidden)};
    for (unsigned state = 0; state < stateCount; ++state) {
      if (!node.has(5 + state)) {
        direction.states.push_back(node.broadcastTo(node.splat(0, x.elementType()), shape, [&] {
          Tensor batch = node.slice(node.shapeOf(x), {1}, {1}, {Dim(1)});
          return node.concat({batch, node.integers({hidden})}, 0);
        }));
        continue;
      }
      Dims whole{Dim(directionCount), x.shape[1], Dim(hidden)};
      if (batchFirst)
        std::swap(whole[0], whole[1]);
      FailureOr<Tensor> initial = checkedInput(5 + state, state ? "initial_c" : "initial_h", whole);
      if (failed(initial))
        return failure();
      direction.states.push_back(
          ofDirection(batchFirst ? node.transpose(*initial, {1, 0, 2}) : *initial, index));
    }
    return success();
  }

  void runSteps(Direction &direction) {
    SmallVector<Tensor> outputs(steps);
    for (int64_t i = 0; i < steps; ++i) {
      int64_t t = direction.reverse ? steps - 1 - i : i;
      Dims shape = direction.inputs.shape;
      shape[0] = Dim(1);
      Tensor input = node.slice(direction.inputs, {t, 0, 0}, {1, 1, 1}, shape);
      SmallVector<Tensor> next =
          step(direction, node.reshape(input, {direction.inputs.shape[1], direction.inputs.shape[2]}));
      outputs[t] = next.front();
      if (lengths) {
        // A sequence that has ended keeps its states and gives zeros.
        Tensor limit = node.broadcastTo(node.splat(static_cast<double>(t), lengths->elementType()),
                                        lengths->shape, [&] { return node.shapeOf(*lengths); });
        Tensor runs = node.make<nn::CompareOp>(lengths->shape, node.builder.getI1Type(),
                                               nn::ComparePredicate::gt, lengths->value, limit.value);
        Tensor mask = rows(node.reshape(runs, {lengths->shape[0], Dim(1)}), next.front());
        auto select = [&](const Tensor &then, const Tensor &otherwise) {
          return node.make<nn::SelectOp>(then.shape, then.elementType(), mask.value, then.value,
                                         otherwise.value);
        };
        outputs[t] = select(next.front(), number(0, next.front()));
        for (auto [state, before] : llvm::zip_equal(next, direction.states))
          state = select(state, before);
      }
      direction.states = std::move(next);
    }
    Dims one{Dim(1), x.shape[1], Dim(hidden)};
    for (Tensor &output : outputs)
      output = node.reshape(output, one);
    if (steps)
      direction.output = node.concat(outputs, 0);
    else
      direction.output = node.make<nn::ReshapeOp>(Dims{Dim(0), x.shape[1], Dim(hidden)}, x.elementType(),
                                                  columns(direction.inputs, 0, hidden).value);
  }

  LogicalResult setResults(ArrayRef<Direction> directions) {
    SmallVector<Tensor> parts;
    for (const Direction &direction : directions)
      parts.push_back(node.reshape(*direction.output, {Dim(steps), Dim(1), x.shape[1], Dim(hidden)}));
    Tensor all = node.concat(parts, 1);
    if (failed(node.set(batchFirst ? node.transpose(all, {2, 0, 1, 3}) : all)))
      return failure();
    for (unsigned state = 0; state < stateCount; ++state) {
      parts.clear();
      for (const Direction &direction : directions)
        parts.push_back(node.reshape(direction.states[state], {Dim(1), x.shape[1], Dim(hidden)}));
      Tensor last = node.concat(parts, 0);
      if (failed(node.set(batchFirst ? node.transpose(last, {1, 0, 2}) : last, 1 + state)))
        return failure();
    }
    return success();
  }

  int64_t gates;
  ArrayRef<StringRef> activationNames;
  unsigned stateCount;
  bool reverses = false, batchFirst = false;
  std::optional<double> clip;
  int64_t steps = 0;
  Tensor x; // T x B x I
  std::optional<Tensor> lengths;
};

/// h = f(x W^T + h R^T)
class SimpleCell : public Recurrence {
public:
  using Recurrence::Recurrence;

private:
  SmallVector<Tensor> step(Direction &direction, const Tensor &input) override {
    Tensor sum = node.binary<nn::AddOp>(input, matmul(direction.states[0], direction.recurrence));
    return {activate(direction.activations[0], sum)};
  }
};

/// Gates i, o, f, c; peepholes i, o, f.
class LongShortTermCell : public Recurrence {
public:
  using Recurrence::Recurrence;

private:
  LogicalResult readMore(Direction &direction, int64_t index) override {
    if (!node.has(7))
      return success();
    FailureOr<Tensor> weights = node.input(7);
    if (failed(weights))
      return failure();
    if (weights->shape != Dims{Dim(directionCount), Dim(3 * hidden)} ||
        weights->elementType() != direction.inputs.elementType())
      return node.error() << "P has type " << weights->type() << ", not "
                          << node.tensorType({Dim(directionCount), Dim(3 * hidden)},
                                             direction.inputs.elementType());
    Tensor own = node.slice(*weights, {index, 0}, {1, 1}, {Dim(1), Dim(3 * hidden)});
    direction.peepholes = node.reshape(own, {Dim(3 * hidden)});
    return success();
  }

  SmallVector<Tensor> step(Direction &direction, const Tensor &input) override {
    const Tensor &h = direction.states[0], &c = direction.states[1];
    Tensor gates = node.binary<nn::AddOp>(input, matmul(h, direction.recurrence));
    auto peek = [&](const Tensor &x, int64_t index, const Tensor &cell) {
      if (!direction.peepholes)
        return x;
      Tensor weight = rows(gate(*direction.peepholes, index), cell);
      return node.binary<nn::AddOp>(x, node.binary<nn::MulOp>(weight, cell));
    };
    const CellActivation &f = direction.activations[0];
    Tensor in = activate(f, peek(gate(gates, 0), 0, c));
    Tensor forget = node.intAttribute("input_forget", 0) ? node.binary<nn::SubOp>(number(1, in), in)
                                                         : activate(f, peek(gate(gates, 2), 2, c));
    Tensor candidate = activate(direction.activations[1], gate(gates, 3));
    Tensor cell =
        node.binary<nn::AddOp>(node.binary<nn::MulOp>(forget, c), node.binary<nn::MulOp>(in, candidate));
    Tensor out = activate(f, peek(gate(gates, 1), 1, cell));
    return {node.binary<nn::MulOp>(out, activate(direction.activations[2], cell)), cell};
  }
};

/// Gates z, r, h.
class GatedCell : public Recurrence {
public:
  using Recurrence::Recurrence;

private:
  bool resetsAfter() { return node.intAttribute("linear_before_reset", 0) != 0; }

  /// With linear_before_reset the recurrence's bias of h is inside the product with r.
  void setBiases(Direction &direction, Tensor &input, std::optional<Tensor> &recurrence) override {
    if (!resetsAfter())
      return Recurrence::setBiases(direction, input, recurrence);
    Tensor sum = node.binary<nn::AddOp>(gate(input, 0, 2), gate(*recurrence, 0, 2));
    input = node.concat({sum, gate(input, 2)}, 0);
    recurrence = gate(*recurrence, 2);
  }

  /// Rows [begin, begin + count) of R, in gates.
  Tensor recurrenceOf(Direction &direction, int64_t begin, int64_t count) {
    return node.slice(direction.recurrence, {begin * hidden, 0}, {1, 1}, {Dim(count * hidden), Dim(hidden)});
  }

  SmallVector<Tensor> step(Direction &direction, const Tensor &input) override {
    const Tensor &h = direction.states[0];
    const CellActivation &f = direction.activations[0], &g = direction.activations[1];
    Tensor first = resetsAfter() ? matmul(h, direction.recurrence) : matmul(h, recurrenceOf(direction, 0, 2));
    Tensor both = activate(f, node.binary<nn::AddOp>(gate(input, 0, 2), gate(first, 0, 2)));
    Tensor z = gate(both, 0), r = gate(both, 1);
    Tensor fromState;
    if (resetsAfter()) {
      fromState = gate(first, 2);
      if (direction.bias)
        fromState = node.binary<nn::AddOp>(fromState, rows(*direction.bias, fromState));
      fromState = node.binary<nn::MulOp>(r, fromState);
    } else {
      fromState = matmul(node.binary<nn::MulOp>(r, h), recurrenceOf(direction, 2, 1));
    }
    Tensor candidate = activate(g, node.binary<nn::AddOp>(gate(input, 2), fromState));
    Tensor kept = node.binary<nn::SubOp>(number(1, z), z);
    return {node.binary<nn::AddOp>(node.binary<nn::MulOp>(kept, candidate), node.binary<nn::MulOp>(z, h))};
  }
};

LogicalResult buildRNN(NodeContext &node) {
  StringRef activations[] = {"Tanh"};
  return SimpleCell(node, 1, activations, 1).build();
}

LogicalResult buildLSTM(NodeContext &node) {
  StringRef activations[] = {"Sigmoid", "Tanh", "Tanh"};
  return LongShortTermCell(node, 4, activations, 2).build();
}

LogicalResult buildGRU(NodeContext &node) {
  StringRef activations[] = {"Sigmoid", "Tanh"};
  return GatedCell(node, 3, activations, 1).build();
}

constexpr OperatorRow operatorRows[] = {
    {"GRU", 7, kNewestOpset, buildGRU},
    {"LSTM", 7, kNewestOpset, buildLSTM},
    {"RNN", 7, kNewestOpset, buildRNN},
};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::recurrentOperators() { return operatorRows; }
