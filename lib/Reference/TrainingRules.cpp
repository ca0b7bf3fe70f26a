//===- TrainingRules.cpp - Losses and optimizers by definition ------------===//
#include "Rules.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace zero;
using namespace zero::reference;

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

LogicalResult zero::reference::apply(nn::CrossEntropyOp op, Operands operands, Results results) {
  const HostTensor &logits = operands[0], &labels = operands[1];
  int64_t classes = logits.getShape().back(), counted = 0, ignored = op.getIgnoreIndex();
  double total = 0;
  for (int64_t row = 0; row < labels.getNumElements(); ++row) {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (int64_t c = 0; c < classes; ++c)
      largest = maximum(largest, logits.getFloat(row * classes + c));
    for (int64_t c = 0; c < classes; ++c)
      sum += std::exp(logits.getFloat(row * classes + c) - largest);
    double logSumExp = largest + std::log(sum);
    results[2].setFloat(row, logSumExp);
    int64_t label = labels.getInt(row);
    if (label == ignored)
      continue;
    if (label < 0 || label >= classes)
      return op.emitOpError() << "label " << row << " is " << label << ", neither " << ignored
                              << " (ignored) nor inside [0, " << classes << ")";
    total += logSumExp - logits.getFloat(row * classes + label);
    ++counted;
  }
  results[0].setFloat(0, total);
  results[1].setInt(0, counted);
  return success();
}

LogicalResult zero::reference::apply(nn::MseLossOp, Operands operands, Results results) {
  double total = 0;
  for (int64_t i = 0; i < operands[0].getNumElements(); ++i) {
    double distance = operands[0].getFloat(i) - operands[1].getFloat(i);
    total += distance * distance;
  }
  results[0].setFloat(0, total);
  results[1].setInt(0, operands[0].getNumElements());
  return success();
}

LogicalResult zero::reference::apply(nn::OutputLossOp, Operands operands, Results results) {
  results[0].setFloat(0, operands[0].getFloat(0));
  results[1].setInt(0, 1);
  return success();
}

//===----------------------------------------------------------------------===//
// Optimizers
//===----------------------------------------------------------------------===//

LogicalResult zero::reference::apply(nn::GlobalNormOp, Operands operands, Results results) {
  double squares = 0;
  for (const HostTensor &operand : operands)
    for (int64_t i = 0; i < operand.getNumElements(); ++i)
      squares += operand.getFloat(i) * operand.getFloat(i);
  results[0].setFloat(0, std::sqrt(squares));
  return success();
}

/// What an update reads and writes, by operand and result; what is absent is null or -1.
namespace {
struct UpdateTensors {
  UpdateTensors(Operands operands, Results results, bool hasMaster, bool hasSkip)
      : results(results), master(operands[hasMaster ? 2 : 0]), gradient(operands[1]),
        states(operands.drop_front(hasMaster ? 3 : 2)), firstState(hasMaster ? 2 : 1),
        isHeld(hasSkip && operands.back().getFloat(0) != 0.0) {}

  /// Writes the new value of element `i` of the parameter: of the master, of which the parameter is the rounded one.
  void setParameter(int64_t i, double value) {
    results[firstState - 1].setFloat(i, isHeld ? master.getFloat(i) : value);
    results[0].setFloat(i, results[firstState - 1].getFloat(i));
  }
  /// Writes element `i` of moment `number`.
  void setState(unsigned number, int64_t i, double value) {
    results[firstState + number].setFloat(i, isHeld ? states[number].getFloat(i) : value);
  }

  Results results;
  const HostTensor &master, &gradient; ///< `master`: the parameter where there is none
  Operands states;                     ///< moments, then scalars
  unsigned firstState;                 ///< the result that is the first moment
  bool isHeld;                         ///< states stay as they were
};
} // namespace

LogicalResult zero::reference::apply(nn::AdamOp op, Operands operands, Results results) {
  UpdateTensors u(operands, results, static_cast<bool>(op.getMaster()), static_cast<bool>(op.getSkip()));
  double gradientScale = u.states[2].getFloat(0), learningRate = u.states[3].getFloat(0);
  double correction1 = u.states[4].getFloat(0), correction2 = u.states[5].getFloat(0);
  double beta1 = op.getBeta1().convertToDouble(), beta2 = op.getBeta2().convertToDouble();
  double epsilon = op.getEpsilon().convertToDouble(), weightDecay = op.getWeightDecay().convertToDouble();
  for (int64_t i = 0; i < results[0].getNumElements(); ++i) {
    double parameter = u.master.getFloat(i), gradient = u.gradient.getFloat(i) * gradientScale;
    if (op.getDecoupled())
      parameter *= 1.0 - learningRate * weightDecay;
    else
      gradient += weightDecay * parameter;
    double average = beta1 * u.states[0].getFloat(i) + (1.0 - beta1) * gradient;
    double square = beta2 * u.states[1].getFloat(i) + (1.0 - beta2) * gradient * gradient;
    double denominator = std::sqrt(square) / std::sqrt(correction2) + epsilon;
    u.setParameter(i, parameter - learningRate / correction1 * average / denominator);
    u.setState(0, i, average);
    u.setState(1, i, square);
  }
  return success();
}

LogicalResult zero::reference::apply(nn::SgdOp op, Operands operands, Results results) {
  bool hasMomentum = static_cast<bool>(op.getMomentumBuffer());
  UpdateTensors u(operands, results, static_cast<bool>(op.getMaster()), static_cast<bool>(op.getSkip()));
  const HostTensor &scale = u.states[hasMomentum ? 1 : 0], &learningRate = u.states[hasMomentum ? 2 : 1];
  double momentum = op.getMomentum().convertToDouble(), weightDecay = op.getWeightDecay().convertToDouble();
  for (int64_t i = 0; i < results[0].getNumElements(); ++i) {
    double parameter = u.master.getFloat(i);
    double direction = u.gradient.getFloat(i) * scale.getFloat(0) + weightDecay * parameter;
    if (hasMomentum) {
      double buffer = momentum * u.states[0].getFloat(i) + direction;
      u.setState(0, i, buffer);
      direction = op.getNesterov() ? direction + momentum * buffer : buffer;
    }
    u.setParameter(i, parameter - learningRate.getFloat(0) * direction);
  }
  return success();
}
