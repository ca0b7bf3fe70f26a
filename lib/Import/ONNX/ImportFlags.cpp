//===- ImportFlags.cpp - The importer's flags -----------------------------===//
#include "zero/Import/ImportFlags.h"

#include "llvm/Support/Regex.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace zero;
namespace cl = llvm::cl;

ImportFlags::ImportFlags(cl::OptionCategory &category)
    : loss("loss", cl::value_desc("cross-entropy[:OUTPUT]|mse[:OUTPUT]|output[:NAME]|none"),
           cl::desc("What training minimises; OUTPUT is the model's only float output unless named. none: the forward pass alone, "
                    "to predict (required)"),
           cl::cat(category)),
      labels("labels", cl::value_desc("NAME"), cl::desc("The labels' name in the data (required by cross-entropy and mse)"), cl::cat(category)),
      train("train", cl::value_desc("REGEX"), cl::desc("Also train the weights whose whole name matches (default none)"),
            cl::cat(category)),
      freeze("freeze", cl::value_desc("REGEX"),
             cl::desc("Do not train the weights whose whole name matches; wins over --train (default none)"),
             cl::cat(category)),
      trainConstants("train-constants", cl::value_desc("REGEX"),
                     cl::desc("Also train the floats of Constant nodes whose output's whole name matches (default none)"),
                     cl::cat(category)),
      init("init", cl::value_desc("RULE[:REGEX]"),
           cl::desc("Starting values of trained weights, and of weights that the model has no values of, whose whole "
                    "name matches (all without REGEX); also makes the output of a ConstantOfShape that REGEX matches "
                    "a parameter. RULE: normal:STD, xavier, kaiming, zeros or ones. Repeatable; the last match decides"),
           cl::cat(category)),
      initSeed("init-seed", cl::value_desc("N"), cl::init(0),
               cl::desc("Decides the numbers that --init draws (default 0)"), cl::cat(category)),
      list("list-parameters",
           cl::desc("Print the float weights with shapes, uses, whether they are trained or why not, and exit (default off)"),
           cl::cat(category)),
      classAxis("class-axis", cl::value_desc("AXIS"),
                cl::desc("The output's dimension that holds the classes: 1 (default the last)"),
                cl::cat(category)),
      dims("dim", cl::value_desc("NAME=VALUE"), cl::desc("The size of a symbolic dimension (repeatable)"),
           cl::cat(category)),
      boundInputs("bind-input", cl::value_desc("NAME=FILE.npy"),
                  cl::desc("Make a graph input a constant with the value in the file (repeatable)"),
                  cl::cat(category)),
      paddingRows("padding-row", cl::value_desc("NAME=ROW"),
                  cl::desc("Look-ups of this row of a weight give it no gradient, as with padding_idx of PyTorch's Embedding, which the "
                           "TorchScript-based exporter does not tell (repeatable; default what the exporter notes)"),
                  cl::cat(category)) {}

llvm::StringRef ImportFlags::firstGiven() const {
  // addressof: a list's own operator& is that of its storage.
  const cl::Option *flags[] = {&loss,    &labels, &train, &freeze, &trainConstants, std::addressof(init), &initSeed,
                               &list, &classAxis, std::addressof(dims), std::addressof(boundInputs),
                               std::addressof(paddingRows)};
  for (const cl::Option *flag : flags)
    if (flag->getNumOccurrences())
      return flag->ArgStr;
  return "";
}

std::optional<ImportOptions> ImportFlags::parse(llvm::StringRef toolName, bool countsOnly) const {
  const bool imports = !list && !countsOnly;
  auto wrong = [&](const llvm::Twine &text) {
    llvm::WithColor::error(llvm::errs(), toolName) << text << '\n';
    return std::nullopt;
  };
  ImportOptions options;
  options.lossGiven = loss.getNumOccurrences() != 0;
  if (!options.lossGiven && imports)
    return wrong("--loss is needed: cross-entropy[:OUTPUT], mse[:OUTPUT], output[:NAME] or none");
  std::optional<LossSpec> spec = options.lossGiven ? LossSpec::parse(loss) : LossSpec();
  if (!spec)
    return wrong("--loss=" + loss + " is not one of cross-entropy[:OUTPUT], mse[:OUTPUT], output[:NAME], none");
  options.loss = *spec;
  options.labels = labels;
  if (spec->kind == LossSpec::Kind::None)
    for (const cl::Option *flag : {static_cast<const cl::Option *>(&labels), static_cast<const cl::Option *>(&train),
                                   static_cast<const cl::Option *>(&freeze),
                                   static_cast<const cl::Option *>(&trainConstants),
                                   static_cast<const cl::Option *>(std::addressof(paddingRows))})
      if (flag->getNumOccurrences())
        return wrong("--" + flag->ArgStr + " is for training, --loss=none trains nothing");
  if (labels.empty() && imports && spec->kind != LossSpec::Kind::Output && spec->kind != LossSpec::Kind::None)
    return wrong("--loss=" + loss + " needs --labels=NAME");
  if (classAxis.getNumOccurrences()) {
    if (classAxis != 1)
      return wrong("--class-axis=" + llvm::Twine(classAxis) + " is not 1; classes are last without the flag");
    if (spec->kind != LossSpec::Kind::CrossEntropy)
      return wrong("--class-axis is for --loss=cross-entropy, not --loss=" + loss);
    options.classAxis = 1;
  }
  for (llvm::StringRef dim : dims) {
    auto [name, value] = dim.rsplit('=');
    int64_t size = 0;
    if (name.empty() || value.getAsInteger(10, size) || size < 1)
      return wrong("--dim=" + dim + " is not NAME=VALUE with a size of 1 or more");
    if (!options.dims.try_emplace(name, size).second)
      return wrong("--dim gives '" + name + "' twice");
  }
  for (llvm::StringRef bound : boundInputs) {
    auto [name, path] = bound.split('=');
    if (name.empty() || path.empty())
      return wrong("--bind-input=" + bound + " is not NAME=FILE.npy");
    if (!options.boundInputs.try_emplace(name.str(), path.str()).second)
      return wrong("--bind-input gives '" + name + "' twice");
  }
  for (llvm::StringRef padding : paddingRows) {
    auto [name, value] = padding.rsplit('=');
    int64_t row = 0;
    if (name.empty() || value.getAsInteger(10, row) || row < 0)
      return wrong("--padding-row=" + padding + " is not NAME=ROW with a row of 0 or more");
    if (!options.paddingRows.try_emplace(name.str(), row).second)
      return wrong("--padding-row gives '" + name + "' twice");
  }
  for (const cl::opt<std::string> *regex : {&train, &freeze, &trainConstants}) {
    std::string problem;
    if (regex->getNumOccurrences() && !llvm::Regex("^(" + *regex + ")$").isValid(problem))
      return wrong("--" + regex->ArgStr + "=" + *regex + " is not a regular expression: " + problem);
  }
  options.trainRegex = train;
  options.freezeRegex = freeze;
  options.trainConstantsRegex = trainConstants;
  for (const std::string &text : init) {
    std::string problem;
    std::optional<InitRule> rule = InitRule::parse(text, problem);
    if (!rule)
      return wrong(problem);
    options.init.push_back(*rule);
  }
  options.initSeed = initSeed;
  if (initSeed.getNumOccurrences() && init.empty())
    return wrong("--init-seed=" + llvm::Twine(options.initSeed) + " is for --init, which is not given");
  return options;
}
