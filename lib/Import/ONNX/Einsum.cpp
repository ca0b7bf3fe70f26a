//===- Einsum.cpp - Sums of products by labelled dimensions ---------------===//
//
// Each operand is brought to one dimension for each of its labels: a label that stands twice reads a
// diagonal. Operands are then combined from left to right. Of two, labels that neither the result nor a later
// operand has are summed: in each alone where only one has them, by a matrix product where both have. An
// operand's dimension of size 1 under a label that is longer elsewhere is dropped: it broadcasts.
//
//===----------------------------------------------------------------------===//
#include "Contraction.h"
#include "OperatorTable.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace zero;
using namespace zero::onnx_import;

namespace {

/// A letter, or a dimension of an ellipsis: -1 is the last one.
using Label = int;
using Labels = SmallVector<Label>;

struct Operand {
  Tensor tensor;
  Labels labels; // one for each dimension
};

bool has(ArrayRef<Label> labels, Label label) { return llvm::is_contained(labels, label); }
int64_t placeOf(ArrayRef<Label> labels, Label label) { return llvm::find(labels, label) - labels.begin(); }

/// The labels of one term; those of an ellipsis stand for `rank` less the letters (none: for `ellipsis`
/// many).
FailureOr<Labels> parseTerm(NodeContext &node, StringRef term, std::optional<int64_t> rank,
                            int64_t ellipsis) {
  int64_t letters = llvm::count_if(term, llvm::isAlpha);
  size_t dots = term.find("...");
  bool wellFormed = llvm::all_of(term, [](char c) { return llvm::isAlpha(c) || c == '.'; }) &&
                    llvm::count(term, '.') == (dots == StringRef::npos ? 0 : 3);
  if (rank)
    ellipsis = *rank - letters;
  if (!wellFormed || (rank && (dots == StringRef::npos ? ellipsis != 0 : ellipsis < 0))) {
    InFlightDiagnostic diagnostic = node.error();
    diagnostic << "term '" << term << "' of the equation ";
    if (wellFormed)
      diagnostic << "has " << letters << " labels for an operand of rank " << *rank;
    else
      diagnostic << "is not made of letters and one ellipsis";
    return failure();
  }
  Labels labels;
  for (size_t i = 0; i < term.size(); ++i) {
    if (term[i] != '.') {
      labels.push_back(term[i]);
      continue;
    }
    for (int64_t dim = ellipsis; dim > 0; --dim)
      labels.push_back(static_cast<Label>(-dim));
    i += 2;
  }
  return labels;
}

Operand permuted(NodeContext &node, const Operand &x, const Labels &labels) {
  SmallVector<int64_t> permutation;
  for (Label label : labels)
    permutation.push_back(placeOf(x.labels, label));
  return {node.transpose(x.tensor, permutation), labels};
}

/// Labels that stand twice become one: the diagonal.
FailureOr<Operand> withoutRepetition(NodeContext &node, Operand x) {
  for (size_t i = 0; i < x.labels.size(); ++i) {
    Label label = x.labels[i];
    if (llvm::count(x.labels, label) < 2)
      continue;
    // Both dimensions last, then one of n * n of which every (n + 1)-th element counts.
    SmallVector<int64_t> permutation, ends{static_cast<int64_t>(i)};
    for (size_t j = 0; j < x.labels.size(); ++j)
      if (j > i && ends.size() == 1 && x.labels[j] == label)
        ends.push_back(static_cast<int64_t>(j));
      else if (j != i)
        permutation.push_back(static_cast<int64_t>(j));
    Labels rest = llvm::map_to_vector(permutation, [&](int64_t dim) { return x.labels[dim]; });
    Dim first = x.tensor.shape[ends[0]], second = x.tensor.shape[ends[1]];
    if (!first.isStatic() || first != second) {
      node.error() << "takes the diagonal of dimensions " << ends[0] << " and " << ends[1] << " of "
                   << x.tensor.type() << ", which are not known to be equal numbers";
      return failure();
    }
    int64_t n = first.value();
    permutation.append(ends);
    Tensor turned = node.transpose(x.tensor, permutation);
    Dims shape(ArrayRef(turned.shape).drop_back(2));
    shape.push_back(Dim(n * n));
    Tensor flat = node.reshape(turned, shape, {turned});
    SmallVector<int64_t> starts(shape.size(), 0), strides(shape.size(), 1);
    strides.back() = n + 1;
    shape.back() = Dim(n);
    rest.push_back(label);
    x = {node.slice(flat, starts, strides, std::move(shape)), std::move(rest)};
    i = static_cast<size_t>(-1); // places have changed
  }
  return x;
}

/// Sums over every label that is not `kept`.
Operand summed(NodeContext &node, const Operand &x, llvm::function_ref<bool(Label)> kept) {
  SmallVector<int64_t> axes;
  Labels labels;
  for (auto [dim, label] : llvm::enumerate(x.labels))
    if (kept(label))
      labels.push_back(label);
    else
      axes.push_back(static_cast<int64_t>(dim));
  return {node.reduce(nn::ReduceKind::sum, x.tensor, axes, /*keepDims=*/false), std::move(labels)};
}

/// Drops dimensions of size 1 whose label is longer in `other`.
Operand withoutOnes(NodeContext &node, const Operand &x, const Operand &other) {
  Labels labels;
  Dims shape;
  for (auto [label, dim] : llvm::zip_equal(x.labels, x.tensor.shape)) {
    if (dim.is(1) && has(other.labels, label) && !other.tensor.shape[placeOf(other.labels, label)].is(1))
      continue;
    labels.push_back(label);
    shape.push_back(dim);
  }
  return {node.reshape(x.tensor, std::move(shape), {x.tensor}), std::move(labels)};
}

/// x * y over all labels of both, in the order `labels`.
FailureOr<Operand> multiplied(NodeContext &node, const Operand &x, const Operand &y, const Labels &labels) {
  SmallVector<Tensor> pair;
  for (const Operand *operand : {&x, &y}) {
    Labels own;
    Dims shape;
    for (Label label : labels)
      if (has(operand->labels, label))
        own.push_back(label);
    Operand ordered = permuted(node, *operand, own);
    for (Label label : labels)
      shape.push_back(has(own, label) ? ordered.tensor.shape[placeOf(own, label)] : Dim(1));
    pair.push_back(node.reshape(ordered.tensor, std::move(shape), {ordered.tensor}));
  }
  if (failed(node.broadcast(pair)))
    return failure();
  return Operand{node.binary<nn::MulOp>(pair[0], pair[1]), labels};
}

/// The product of two operands, summed over labels that are not `needed`.
FailureOr<Operand> combined(NodeContext &node, Operand x, Operand y, ArrayRef<Label> needed) {
  Operand left = withoutOnes(node, x, y), right = withoutOnes(node, y, x);
  left = summed(node, left, [&](Label label) { return has(needed, label) || has(right.labels, label); });
  right = summed(node, right, [&](Label label) { return has(needed, label) || has(left.labels, label); });
  Labels batch, rows, columns, inner;
  for (Label label : left.labels)
    (!has(right.labels, label) ? rows : has(needed, label) ? batch : inner).push_back(label);
  for (Label label : right.labels)
    if (!has(left.labels, label))
      columns.push_back(label);
  for (const Labels *shared : {&batch, &inner})
    for (Label label : *shared) {
      Dim a = left.tensor.shape[placeOf(left.labels, label)],
          b = right.tensor.shape[placeOf(right.labels, label)];
      if (a.isStatic() && b.isStatic() && a != b) {
        node.error() << "dimensions of " << x.tensor.type() << " and " << y.tensor.type()
                     << " under one label have sizes " << a.value() << " and " << b.value();
        return failure();
      }
    }
  auto joined = [](std::initializer_list<const Labels *> lists) {
    Labels all;
    for (const Labels *list : lists)
      all.append(*list);
    return all;
  };
  if (inner.empty())
    return multiplied(node, left, right, joined({&batch, &rows, &columns}));

  Operand a = permuted(node, left, joined({&batch, &rows, &inner})),
          b = permuted(node, right, joined({&batch, &inner, &columns}));
  int64_t batches = static_cast<int64_t>(batch.size());
  // Rows, columns and summed labels are one dimension each.
  auto matrix = [&](const Operand &operand, size_t split) {
    Dims shape(ArrayRef(operand.tensor.shape).take_front(batches));
    int64_t middle = batches + static_cast<int64_t>(split);
    shape.push_back(node.extent(operand.tensor, batches, middle));
    shape.push_back(node.extent(operand.tensor, middle, operand.tensor.rank()));
    return node.reshape(operand.tensor, std::move(shape), {operand.tensor});
  };
  Tensor result = product(node, matrix(a, rows.size()), matrix(b, inner.size()));
  Dims shape(ArrayRef(a.tensor.shape).take_front(batches + rows.size()));
  shape.append(b.tensor.shape.end() - columns.size(), b.tensor.shape.end());
  return Operand{node.reshape(result, std::move(shape), {a.tensor, b.tensor}),
                 joined({&batch, &rows, &columns})};
}

/// The result's term where the equation has none: the ellipsis, then labels that stand once, in order.
std::string implicitResult(ArrayRef<StringRef> terms) {
  std::string all, result;
  bool anyEllipsis = false;
  for (StringRef term : terms) {
    anyEllipsis |= term.contains('.');
    all += term.str();
  }
  for (char c : all)
    if (llvm::isAlpha(c) && llvm::count(all, c) == 1)
      result += c;
  llvm::sort(result);
  return (anyEllipsis ? "..." : "") + result;
}

LogicalResult buildEinsum(NodeContext &node) {
  std::string equation = node.stringAttribute("equation", "");
  llvm::erase(equation, ' ');
  auto [operandTerms, resultTerm] = StringRef(equation).split("->");
  bool isExplicit = StringRef(equation).contains("->");
  SmallVector<StringRef> terms;
  operandTerms.split(terms, ',');
  if (terms.size() != node.inputs.size())
    return node.error() << "equation '" << equation << "' has " << terms.size() << " terms for "
                        << node.inputs.size() << " operands";
  SmallVector<Operand> operands;
  int64_t ellipsis = 0;
  Labels all;
  for (auto [index, term] : llvm::enumerate(terms)) {
    FailureOr<Tensor> tensor = node.input(index);
    if (failed(tensor))
      return failure();
    if (tensor->elementType() != (operands.empty() ? *tensor : operands.front().tensor).elementType() ||
        tensor->elementType().isInteger(1))
      return node.error() << "needs numbers of one type, not " << tensor->type();
    FailureOr<Labels> labels = parseTerm(node, term, tensor->rank(), 0);
    if (failed(labels))
      return failure();
    ellipsis = std::max<int64_t>(ellipsis, llvm::count_if(*labels, [](Label label) { return label < 0; }));
    llvm::append_range(all, *labels);
    FailureOr<Operand> operand = withoutRepetition(node, {*tensor, *labels});
    if (failed(operand))
      return failure();
    operands.push_back(std::move(*operand));
  }
  std::string resultText = isExplicit ? resultTerm.str() : implicitResult(terms);
  FailureOr<Labels> result = parseTerm(node, resultText, std::nullopt, ellipsis);
  if (failed(result))
    return failure();
  for (Label label : *result)
    if (!has(all, label) || llvm::count(*result, label) > 1)
      return node.error() << "equation '" << equation << "' has a label in its result "
                          << (has(all, label) ? "twice" : "that no operand has");

  Operand whole = operands.front();
  for (size_t i = 1; i < operands.size(); ++i) {
    Labels needed = *result;
    for (const Operand &later : ArrayRef(operands).drop_front(i + 1))
      llvm::append_range(needed, later.labels);
    FailureOr<Operand> next = combined(node, whole, operands[i], needed);
    if (failed(next))
      return failure();
    whole = std::move(*next);
  }
  whole = summed(node, whole, [&](Label label) { return has(*result, label); });
  return node.set(permuted(node, whole, *result).tensor);
}

constexpr OperatorRow rows[] = {{"Einsum", 12, kNewestOpset, buildEinsum}};

} // namespace

ArrayRef<OperatorRow> zero::onnx_import::einsumOperators() { return rows; }
