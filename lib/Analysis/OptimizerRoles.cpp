//===- OptimizerRoles.cpp - What an optimizer takes and gives, by role ----===//
#include "zero/Analysis/OptimizerRoles.h"

using namespace mlir;

namespace zero {

static void addMaster(OptimizerRoles &roles, Value master, Value newMaster) {
  if (!master)
    return;
  roles.operands.push_back({nn::RoleKind::Master, master});
  roles.results.push_back({nn::RoleKind::Master, newMaster});
}

std::optional<OptimizerRoles> getOptimizerRoles(Operation *op) {
  using nn::RoleKind;
  if (auto adam = dyn_cast<nn::AdamOp>(op)) {
    OptimizerRoles roles{{{RoleKind::Parameter, adam.getParameter()},
                           {RoleKind::Gradient, adam.getGradient()},
                           {RoleKind::ExpAvg, adam.getExpAvg()},
                           {RoleKind::ExpAvgSq, adam.getExpAvgSq()},
                           {RoleKind::LearningRate, adam.getLearningRate()},
                           {RoleKind::BiasCorrection1, adam.getBiasCorrection1()},
                           {RoleKind::BiasCorrection2, adam.getBiasCorrection2()}},
                          {{RoleKind::Parameter, adam.getNewParameter()},
                           {RoleKind::ExpAvg, adam.getNewExpAvg()},
                           {RoleKind::ExpAvgSq, adam.getNewExpAvgSq()}},
                          adam.getGradientScale(),
                          adam.getSkip()};
    addMaster(roles, adam.getMaster(), adam.getNewMaster());
    return roles;
  }
  if (auto sgd = dyn_cast<nn::SgdOp>(op)) {
    OptimizerRoles roles{{{RoleKind::Parameter, sgd.getParameter()},
                          {RoleKind::Gradient, sgd.getGradient()},
                          {RoleKind::LearningRate, sgd.getLearningRate()}},
                         {{RoleKind::Parameter, sgd.getNewParameter()}},
                         sgd.getGradientScale(),
                         sgd.getSkip()};
    addMaster(roles, sgd.getMaster(), sgd.getNewMaster());
    if (Value buffer = sgd.getMomentumBuffer()) {
      roles.operands.push_back({RoleKind::Momentum, buffer});
      roles.results.push_back({RoleKind::Momentum, sgd.getNewMomentumBuffer()});
    }
    return roles;
  }
  return std::nullopt;
}

} // namespace zero
