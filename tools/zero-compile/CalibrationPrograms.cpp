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

  /// What stands between the products of a transformer: normalization, biases, GELU, residual; `inner` times as wide in the middle.
  void addBlock(int64_t inner) {
    std::string before = value, narrow = rowsType(), name = formatv("block.{0}", blocks), line = tensor({width}), rows = tensor({batch * sequence});
    std::string scale = addParameter(name + ".scale", {width}), bias = addParameter(name + ".bias", {width});
    ops += formatv("    %n{0}, %mean{0}, %rstd{0} = nn.layer_norm {1} scale {2} bias {3} epsilon 1.0e-5 : {4}, {5}, {5} -> {4}, {6}, {6}\n", blocks, value,
                   scale, bias, narrow, line, rows);
    value = formatv("%n{0}", blocks);
    addProduct(inner * width);
    addBias(name + ".up");
    ops += formatv("    %g{0} = nn.gelu none {1} : {2}\n", blocks, value, rowsType());
    value = formatv("%g{0}", blocks);
    addProduct(width / inner);
    addBias(name + ".down");
    ops += formatv("    %r{0} = nn.add {1}, {2} : {3}\n", blocks, value, before, narrow);
    value = formatv("%r{0}", blocks++);
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
  void addBias(const std::string &name) {
    std::string bias = addParameter(name, {width});
    ops += formatv("    %wide{0} = nn.broadcast {1} dims [1] : {2} to {3}\n    %biased{0} = nn.add {4}, %wide{0} : {3}\n", count, bias, tensor({width}),
                   rowsType(), value);
    value = formatv("%biased{0}", count);
  }
  std::string addParameter(const std::string &name, std::initializer_list<int64_t> shape) {
    std::string argument = formatv("%w{0}", count++);
    parameters += formatv(",\n    {0}: {1} {{nn.data = #nn.initial<normal 2.0e-02 : f64 seed {2} : f32>, nn.role = #nn.role<parameter \"{3}\">}",
                          argument, tensor(shape), count, name);
    return argument;
  }

  int64_t batch, sequence, width;
  int count = 0, products = 0, blocks = 0;
  std::string parameters, ops, value;
};

std::string makeConfig(int64_t microBatch, int64_t stage = 0, bool narrow = false) {
  return formatv("{{\"train_micro_batch_size_per_gpu\": {0}, \"gradient_accumulation_steps\": 1, \"optimizer\": {{\"type\": \"AdamW\", \"params\": "
                 "{{\"lr\": 0.001, \"weight_decay\": 0.1}}, \"zero_optimization\": {{\"stage\": {1}}{2}}",
                 microBatch, stage, narrow ? ", \"bf16\": {\"enabled\": true}" : "");
}

/// Every ordered pair of three widths once, at `batch` samples of `sequence` tokens.
CalibrationProgram makeProducts(const std::string &name, int64_t batch, int64_t sequence, const int64_t (&w)[3], bool narrow = false) {
  TokenModel model(batch, sequence, w[0]);
  for (int next : {0, 1, 1, 2, 2, 0, 2, 1, 0})
    model.addProduct(w[next]);
  return {name, model.finish(), makeConfig(batch, /*stage=*/0, narrow), sequence, batch};
}

CalibrationProgram makeAttention(const std::string &name, int64_t batch, int64_t sequence, int64_t width, int64_t heads, bool narrow) {
  TokenModel model(batch, sequence, width);
  model.addAttention(heads);
  return {name, model.finish(), makeConfig(batch, /*stage=*/0, narrow), sequence, batch};
}

CalibrationProgram makeCollectives(const std::string &name, const int64_t (&widths)[3], bool small, bool narrow) {
  CalibrationProgram program = makeProducts(name, 1, small ? 8 : 32, widths);
  program.config = makeConfig(1, /*stage=*/3, narrow);
  program.samples = program.ranks = 2;
  return program;
}

/// Sums of `op` of `count` numbers that hang together by `step` alone, so that the processor can overlap them as those of neighbours.
CalibrationProgram makeChain(const std::string &name, const std::string &op, const std::string &step, double number, int count, int64_t sequence) {
  std::string ops, value = "%x0", sum = "%x0", type = tensor({-1, sequence});
  for (int i = 0; i < count; ++i) {
    ops += formatv("    %s{0} = nn.{1} {2}, %number : {3}\n", i, step, value, type);
    value = formatv("%s{0}", i);
    std::string term = value;
    if (op == "round") {
      ops += formatv("    %h{0} = nn.cast %s{0} : {1} to {2}\n    %v{0} = nn.cast %h{0} : {2} to {1}\n", i, type, tensor({-1, sequence}, "bf16"));
      term = formatv("%v{0}", i);
    } else if (!op.empty()) {
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
  const int64_t wide[3] = {64, 512, 4096}, between[3] = {256, 1024, 2048}, narrow[3] = {16, 64, 128};
  const int64_t(&widths)[3] = small ? narrow : wide;
  int64_t sequence = small ? 32 : 256;
  for (bool bf16 : {false, true}) {
    const char *type = bf16 ? " in bf16" : "";
    programs.push_back(makeProducts(formatv("products of 1024 rows{0}", type), 4, sequence, widths, bf16));
    if (!small)
      programs.push_back(makeProducts(formatv("products of 1024 rows, widths between{0}", type), 4, sequence, between, bf16));
    programs.push_back(makeProducts(formatv("products of 256 rows{0}", type), 1, sequence, widths, bf16));
    for (int64_t length : {small ? 32 : 128, small ? 64 : 512})
      programs.push_back(makeAttention(formatv("attention over {0}{1}", length, type), small ? 1 : 1024 / length, length, small ? 64 : 512, small ? 2 : 8, bf16));
  }
  for (int64_t width : {small ? 32 : 256, small ? 64 : 512}) {
    TokenModel model(4, sequence, width);
    for (int i = 0; i < 2; ++i)
      model.addBlock(4);
    programs.push_back({formatv("blocks of width {0}", width), model.finish(), makeConfig(4), sequence, 4});
    programs.back().isShared = true;
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
  programs.push_back(makeChain("rounding", "round", "mul", 0.75, 8, tokens));
  programs.push_back(makeCollectives("collectives of two ranks", widths, small, /*narrow=*/false));
  programs.push_back(makeCollectives("collectives of two ranks in bf16", widths, small, /*narrow=*/true));
  programs.push_back(makeCollectives("messages of two ranks", widths, small, /*narrow=*/false));
  programs.back().sendsMessages = true;
  return programs;
}

} // namespace zero
