//===- CalibrationPrograms.cpp - What zero-compile --calibrate runs -------===//
#include "CalibrationPrograms.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using llvm::formatv;

namespace zero {
namespace {

constexpr int64_t kWords = 256; // a token is a byte

std::string tensor(std::initializer_list<int64_t> sizes, const char *element = "f32") {
  std::string text = "tensor<";
  for (int64_t size : sizes)
    text += (size < 0 ? "?" : std::to_string(size)) + "x";
  return text + element + ">";
}

/// @forward of tokens x and labels y, to cross entropy over the words: parameters and ops are added one by one.
class TokenModel {
public:
  TokenModel(int64_t batch, int64_t sequence, int64_t width) : batch(batch), sequence(sequence), width(width) {
    std::string table = addParameter("table", {kWords, width});
    ops += formatv("    %embedded = nn.gather {0}[%x] axis 0 : {1}, {2} -> {3}\n", table, tensor({kWords, width}), tokens(),
                   tensor({batch, sequence, width}));
    ops += formatv("    %rows = nn.reshape %embedded : {0} to {1}\n", tensor({batch, sequence, width}), rowsType());
    value = "%rows";
  }

  void addProduct(int64_t columns) {
    std::string weight = addParameter(formatv("layer.{0}.weight", products), {width, columns}), from = rowsType();
    std::string result = formatv("%product{0}", products++);
    int64_t before = std::exchange(width, columns);
    ops += formatv("    {0} = nn.matmul {1}, {2} : {3}, {4} -> {5}\n", result, value, weight, from, tensor({before, columns}), rowsType());
    value = result;
  }

  void addAttention(int64_t heads) {
    std::string shape = tensor({batch, sequence, heads, width / heads}), sums = tensor({batch, heads, sequence});
    ops += formatv("    %heads = nn.reshape {0} : {1} to {2}\n", value, rowsType(), shape);
    ops += formatv("    %attended, %lse = nn.attention %heads, %heads, %heads scale 0.125 causal : {0}, {0}, {0} -> {0}, {1}\n", shape, sums);
    ops += formatv("    %merged = nn.reshape %attended : {0} to {1}\n", shape, rowsType());
    value = "%merged";
  }

  /// Twice 3 x 3 over an image of sequence / side rows.
  void addConvolutions(int64_t side) {
    std::string image = tensor({batch, width, sequence / side, side}), kernel = tensor({width, width, 3, 3});
    std::string flat = tensor({batch, sequence / side, side, width});
    ops += formatv("    %pixels = nn.reshape {0} : {1} to {2}\n", value, rowsType(), flat);
    ops += formatv("    %image = nn.transpose %pixels [0, 3, 1, 2] : {0} to {1}\n", flat, image);
    std::string from = "%image";
    for (int i = 0; i < 2; ++i) {
      std::string weight = addParameter(formatv("convolution.{0}.weight", i), {width, width, 3, 3});
      ops += formatv("    %filtered{0} = nn.conv {1}, {2} strides [1, 1] low [1, 1] high [1, 1] dilations [1, 1] groups 1 : {3}, {4} -> {3}\n", i, from,
                     weight, image, kernel);
      from = formatv("%filtered{0}", i);
    }
    ops += formatv("    %back = nn.transpose {0} [0, 2, 3, 1] : {1} to {2}\n", from, image, flat);
    ops += formatv("    %merged = nn.reshape %back : {0} to {1}\n", flat, rowsType());
    value = "%merged";
  }

  std::string finish() {
    addProduct(kWords);
    std::string logits = tensor({batch, sequence, kWords});
    return formatv("module {\n  func.func @forward(%x: {0} {{nn.role = #nn.role<input \"x\">}, %y: {0} {{nn.role = #nn.role<label \"y\">}{1})\n"
                   "    -> (tensor<f32> {{nn.role = #nn.role<loss_sum \"\">}, tensor<i64> {{nn.role = #nn.role<label_count \"\">}) {{\n{2}"
                   "    %logits = nn.reshape {3} : {4} to {5}\n"
                   "    %loss_sum, %count, %sums = nn.cross_entropy %logits, %y : {5}, {0} -> tensor<f32>, tensor<i64>, {6}\n"
                   "    return %loss_sum, %count : tensor<f32>, tensor<i64>\n  }\n}\n",
                   tokens(), parameters, ops, value, rowsType(), logits, tensor({batch, sequence}));
  }

private:
  std::string tokens() const { return tensor({batch, sequence}, "i64"); }
  std::string rowsType() const { return tensor({batch * sequence, width}); }
  std::string addParameter(const std::string &name, std::initializer_list<int64_t> shape) {
    std::string argument = formatv("%w{0}", count++);
    parameters += formatv(",\n    {0}: {1} {{nn.data = #nn.initial<normal 2.0e-02 : f64 seed {2} : f32>, nn.role = #nn.role<parameter \"{3}\">}",
                          argument, tensor(shape), count, name);
    return argument;
  }

  int64_t batch, sequence, width;
  int count = 0, products = 0;
  std::string parameters, ops, value;
};

std::string makeConfig(int64_t microBatch, int64_t stage = 0, bool narrow = false) {
  return formatv("{{\"train_micro_batch_size_per_gpu\": {0}, \"gradient_accumulation_steps\": 1, \"optimizer\": {{\"type\": \"AdamW\", \"params\": "
                 "{{\"lr\": 0.001, \"weight_decay\": 0.1}}, \"zero_optimization\": {{\"stage\": {1}}{2}}",
                 microBatch, stage, narrow ? ", \"bf16\": {\"enabled\": true}" : "");
}

/// Every ordered pair of three widths once, at `batch` samples of `sequence` tokens.
CalibrationProgram makeProducts(const std::string &name, int64_t batch, int64_t sequence, const int64_t (&w)[3]) {
  TokenModel model(batch, sequence, w[0]);
  for (int next : {0, 1, 1, 2, 2, 0, 2, 1, 0})
    model.addProduct(w[next]);
  return {name, model.finish(), makeConfig(batch), sequence, batch};
}

/// Sums of `op` of `count` numbers that hang together by `step` alone, so that the processor can overlap them as those of neighbours.
CalibrationProgram makeChain(const std::string &name, const std::string &op, const std::string &step, double number, int count, int64_t sequence) {
  std::string ops, value = "%x0", sum = "%x0", type = tensor({-1, sequence});
  for (int i = 0; i < count; ++i) {
    ops += formatv("    %s{0} = nn.{1} {2}, %number : {3}\n", i, step, value, type);
    value = formatv("%s{0}", i);
    std::string term = value;
    if (!op.empty()) {
      ops += formatv(op == "div" ? "    %v{0} = nn.{1} %number, %s{0} : {2}\n" : "    %v{0} = nn.{1} %s{0} : {2}\n", i, op, type);
      term = formatv("%v{0}", i);
    }
    ops += formatv("    %a{0} = nn.add {1}, {2} : {3}\n", i, sum, term, type);
    sum = formatv("%a{0}", i);
  }
  std::string text = formatv(
      "module {\n  func.func @forward(%x: {0} {{nn.role = #nn.role<input \"x\">}) -> (tensor<?xf32> {{nn.batched, nn.role = #nn.role<output \"z\">}) {{\n"
      "    %x0 = nn.cast %x : {0} to {1}\n    %shape = nn.shape_of %x0 : {1} -> tensor<2xi64>\n    %scalar = nn.constant dense<{2:e}> : tensor<f32>\n"
      "    %number = nn.broadcast_to %scalar shape %shape : tensor<2xi64>, : tensor<f32> to {1}\n{3}"
      "    %sum = nn.reduce sum {4} axes [1] : {1} to tensor<?xf32>\n    return %sum : tensor<?xf32>\n  }\n}\n",
      tensor({-1, sequence}, "i64"), type, number, ops, sum);
  return {"chain of " + name, text, makeConfig(1), sequence, 1, 1, /*trains=*/false};
}

} // namespace

std::vector<CalibrationProgram> makeCalibrationPrograms(bool small) {
  std::vector<CalibrationProgram> programs;
  const int64_t wide[3] = {64, 512, 4096}, narrow[3] = {16, 64, 128};
  const int64_t(&widths)[3] = small ? narrow : wide;
  int64_t sequence = small ? 32 : 256;
  programs.push_back(makeProducts("products of 1024 rows", 4, sequence, widths));
  programs.push_back(makeProducts("products of 256 rows", 1, sequence, widths));
  for (int64_t length : {small ? 32 : 128, small ? 64 : 512}) {
    int64_t batch = small ? 1 : 1024 / length;
    TokenModel model(batch, length, small ? 64 : 512);
    model.addAttention(small ? 2 : 8);
    programs.push_back({formatv("attention over {0}", length), model.finish(), makeConfig(batch), length, batch});
  }
  {
    TokenModel model(small ? 1 : 4, small ? 64 : 1024, small ? 16 : 64);
    model.addConvolutions(small ? 8 : 32);
    programs.push_back({"convolutions", model.finish(), makeConfig(small ? 1 : 4), small ? 64 : 1024, small ? 1 : 4});
  }
  int64_t tokens = small ? 2048 : 16384;
  programs.push_back(makeChain("plain", "", "mul", 0.5, 16, tokens));
  programs.push_back(makeChain("division", "div", "add", 2.0, 8, tokens));
  programs.push_back(makeChain("exponential", "exp", "mul", 0.25, 8, tokens));
  programs.push_back(makeChain("logarithm", "log", "add", 3.0, 8, tokens));
  programs.push_back(makeChain("tangent", "tanh", "mul", 1.5, 8, tokens));
  programs.push_back(makeChain("error_function", "erf", "mul", 1.5, 8, tokens));
  programs.push_back(makeChain("trigonometric", "sin", "mul", 2.0, 8, tokens));
  CalibrationProgram collectives = makeProducts("collectives of two ranks", 1, small ? 8 : 32, widths);
  collectives.config = makeConfig(1, /*stage=*/3);
  collectives.samples = 2;
  collectives.ranks = 2;
  programs.push_back(std::move(collectives));
  return programs;
}

} // namespace zero
