//===- PlanBinary.cpp - A plan as the file compiled.bin -------------------===//
#include "zero/Target/PlanBinary.h"
#include "PlanRecords.h"
#include "Weights.h"
#include "dialects/Plan/PlanOps.h"
#include "zero/Analysis/ConfigAttribute.h"
#include "zero/Container/Container.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace zero {

Status writePlanBinary(ModuleOp module, ArrayRef<KernelObject> kernels, StringRef weightsFolder,
                       StringRef path, StringRef command, const ModelSkeleton *model, const TargetRates &rates, const CudaCode *cuda) {
  for (auto buffer : module.getOps<plan::BufferOp>())
    if (!buffer.getOffset())
      return Status::programFailed("buffer '" + buffer.getSymName().str() +
                                   "' has no offset; plan-assign-offsets gives it one");
  ZERO_ASSIGN_OR_RETURN(planbinary::WeightsLayout weights, planbinary::computeWeightsLayout(module));
  ZERO_ASSIGN_OR_RETURN(std::string records, planbinary::makePlanRecords(module, weights, command, rates));
  // What ranks would refuse is not written.
  if (Status status = verifyPlanRecords(records, weights.rankPartBytes * weights.worldSize, weights.frozenBytes); !status.ok())
    return Status::programFailed("the plan cannot run: " + status.message());

  ContainerWriter writer;
  writer.addSection(SectionKind::Plan, "", std::move(records));
  if (Attribute config = module->getAttr("zero.config")) {
    std::string text;
    llvm::raw_string_ostream(text) << llvm::formatv("{0:2}", convertToJSON(config));
    writer.addSection(SectionKind::Config, "", std::move(text));
  }
  if (model)
    model->addTo(writer);
  for (const KernelObject &object : kernels)
    writer.addSection(SectionKind::KernelObject, variantName(object.variant), object.bytes);
  if (cuda) {
    for (const CudaImage &image : cuda->images)
      writer.addSection(image.isPtx ? SectionKind::CudaPtx : SectionKind::CudaBinary, image.label, image.bytes);
    writer.addSection(SectionKind::CudaSource, "kernels.cu", cuda->source);
  }
  std::string folder = weightsFolder.str();
  writer.addSection(SectionKind::Frozen, "", weights.frozenBytes, [&](const ContainerWriter::Sink &sink) {
    return planbinary::produceFrozen(weights, folder, sink);
  });
  writer.addSection(
      SectionKind::Weights, "", weights.rankPartBytes * weights.worldSize,
      [&](const ContainerWriter::Sink &sink) { return planbinary::produceWeights(weights, folder, sink); });
  return writer.write(path.str());
}

} // namespace zero
