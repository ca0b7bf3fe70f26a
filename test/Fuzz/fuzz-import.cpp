//===- fuzz-import.cpp - The importer under libFuzzer ---------------------===//
//
// An input is a .onnx file. Whatever it holds, the importer gives a module or a diagnostic; a module goes on
// through the binding of the batch and constant folding. The mutator changes one field of the parsed model,
// so that most inputs get past the parser.
//
//===----------------------------------------------------------------------===//
#include "zero/Import/ONNX.h"
#include "zero/Transforms/NN/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Pass/PassManager.h"

#include "onnx-ml.pb.h"

#include <google/protobuf/reflection.h>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

/// MLIR is not instrumented: what crosses between its containers and ours is known to one side only.
extern "C" const char *__asan_default_options() {
  return "detect_odr_violation=0:allow_user_poisoning=0:detect_container_overflow=0:detect_leaks=0:"
         "allocator_may_return_null=0";
}

namespace {

/// A fresh context from time to time: types and attributes of all inputs would stay for ever.
mlir::MLIRContext &freshContext() {
  static std::unique_ptr<mlir::MLIRContext> context;
  static unsigned uses = 0;
  if (!context || ++uses % 256 == 0) {
    context = std::make_unique<mlir::MLIRContext>(mlir::MLIRContext::Threading::DISABLED);
    context->loadDialect<zero::nn::NNDialect, mlir::func::FuncDialect>();
  }
  return *context;
}

zero::ImportOptions optionsFor(size_t size) {
  zero::ImportOptions options;
  options.labels = "labels";
  constexpr zero::LossSpec::Kind kinds[] = {zero::LossSpec::Kind::MeanSquaredError,
                                            zero::LossSpec::Kind::CrossEntropy, zero::LossSpec::Kind::Output};
  options.loss.kind = kinds[size % 3];
  if (options.loss.kind == zero::LossSpec::Kind::Output)
    options.labels.clear();
  return options;
}

/// One field of a message tree at a time becomes something else.
class Mutator {
public:
  explicit Mutator(unsigned seed) : random(seed) {}

  void mutate(Message &message) {
    for (int i = 0, count = 1 + pick(3); i < count; ++i) {
      std::vector<Message *> all; // anew: a change frees messages
      collect(message, all);
      strings.clear();
      for (const Message *each : all)
        collectStrings(*each);
      change(*all[pick(all.size())]);
    }
  }

private:
  size_t pick(size_t count) { return count ? random() % count : 0; }

  static void collect(Message &message, std::vector<Message *> &all) {
    if (all.size() > 4096)
      return;
    all.push_back(&message);
    const Reflection &reflection = *message.GetReflection();
    std::vector<const FieldDescriptor *> fields;
    reflection.ListFields(message, &fields);
    for (const FieldDescriptor *field : fields) {
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE)
        continue;
      if (!field->is_repeated())
        collect(*reflection.MutableMessage(&message, field), all);
      else
        for (int i = 0; i < reflection.FieldSize(message, field); ++i)
          collect(*reflection.MutableRepeatedMessage(&message, field, i), all);
    }
  }

  void collectStrings(const Message &message) {
    const Reflection &reflection = *message.GetReflection();
    std::vector<const FieldDescriptor *> fields;
    reflection.ListFields(message, &fields);
    for (const FieldDescriptor *field : fields) {
      if (field->cpp_type() != FieldDescriptor::CPPTYPE_STRING)
        continue;
      if (!field->is_repeated())
        strings.push_back(reflection.GetString(message, field));
      else
        for (int i = 0; i < reflection.FieldSize(message, field); ++i)
          strings.push_back(reflection.GetRepeatedString(message, field, i));
    }
  }

  int64_t integer(int64_t old) {
    constexpr int64_t interesting[] = {0,
                                       1,
                                       -1,
                                       2,
                                       3,
                                       7,
                                       64,
                                       INT32_MAX,
                                       INT32_MIN,
                                       INT64_MAX,
                                       INT64_MIN,
                                       int64_t(1) << 31,
                                       int64_t(1) << 40,
                                       int64_t(1) << 62};
    if (pick(3) == 0)
      return static_cast<int64_t>(static_cast<uint64_t>(old) + pick(5) - 2);
    return interesting[pick(std::size(interesting))];
  }
  double real() {
    const double interesting[] = {0,
                                  1,
                                  -1,
                                  0.5,
                                  1e30,
                                  -1e30,
                                  std::numeric_limits<double>::infinity(),
                                  std::numeric_limits<double>::quiet_NaN()};
    return interesting[pick(std::size(interesting))];
  }
  std::string text(std::string old) {
    if (!strings.empty() && pick(3))
      return strings[pick(strings.size())];
    if (pick(4) == 0)
      return "";
    if (pick(2) && !old.empty())
      old.resize(pick(old.size()));
    else
      old.push_back(static_cast<char>(pick(256)));
    return old;
  }

  void change(Message &message) {
    const google::protobuf::Descriptor &type = *message.GetDescriptor();
    const Reflection &reflection = *message.GetReflection();
    std::vector<const FieldDescriptor *> set;
    reflection.ListFields(message, &set);
    // A field that is there, mostly; else any.
    const FieldDescriptor *field = !set.empty() && pick(4)
                                       ? set[pick(set.size())]
                                       : type.field(static_cast<int>(pick(type.field_count())));
    if (!field->is_repeated()) {
      if (pick(8) == 0)
        reflection.ClearField(&message, field);
      else
        setOne(message, field);
      return;
    }
    int size = reflection.FieldSize(message, field);
    switch (pick(5)) {
    case 0:
      if (size)
        reflection.RemoveLast(&message, field);
      break;
    case 1:
      if (size > 1)
        reflection.SwapElements(&message, field, static_cast<int>(pick(size)), static_cast<int>(pick(size)));
      break;
    case 2:
      addOne(message, field);
      break;
    default:
      if (size)
        setElement(message, field, static_cast<int>(pick(size)));
      else
        addOne(message, field);
    }
  }

  void setOne(Message &message, const FieldDescriptor *field) {
    const Reflection &r = *message.GetReflection();
    switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return r.SetInt32(&message, field,
                        static_cast<int32_t>(pick(2) ? pick(30) : integer(r.GetInt32(message, field))));
    case FieldDescriptor::CPPTYPE_INT64:
      return r.SetInt64(&message, field, integer(r.GetInt64(message, field)));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return r.SetFloat(&message, field, static_cast<float>(real()));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return r.SetDouble(&message, field, real());
    case FieldDescriptor::CPPTYPE_ENUM:
      return r.SetEnum(&message, field,
                       field->enum_type()->value(static_cast<int>(pick(field->enum_type()->value_count()))));
    case FieldDescriptor::CPPTYPE_STRING:
      return r.SetString(&message, field, text(r.GetString(message, field)));
    case FieldDescriptor::CPPTYPE_MESSAGE:
      r.MutableMessage(&message, field);
      return;
    default:
      return;
    }
  }

  void addOne(Message &message, const FieldDescriptor *field) {
    const Reflection &r = *message.GetReflection();
    int size = r.FieldSize(message, field);
    switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return r.AddInt32(&message, field, static_cast<int32_t>(integer(0)));
    case FieldDescriptor::CPPTYPE_INT64:
      return r.AddInt64(&message, field, integer(0));
    case FieldDescriptor::CPPTYPE_UINT64:
      return r.AddUInt64(&message, field, static_cast<uint64_t>(integer(0)));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return r.AddFloat(&message, field, static_cast<float>(real()));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return r.AddDouble(&message, field, real());
    case FieldDescriptor::CPPTYPE_STRING:
      return r.AddString(&message, field, text(""));
    case FieldDescriptor::CPPTYPE_MESSAGE: {
      int from = static_cast<int>(pick(size));
      Message *added = r.AddMessage(&message, field);
      if (size)
        added->CopyFrom(r.GetRepeatedMessage(message, field, from));
      return;
    }
    default:
      return;
    }
  }

  void setElement(Message &message, const FieldDescriptor *field, int index) {
    const Reflection &r = *message.GetReflection();
    switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return r.SetRepeatedInt32(&message, field, index,
                                static_cast<int32_t>(integer(r.GetRepeatedInt32(message, field, index))));
    case FieldDescriptor::CPPTYPE_INT64:
      return r.SetRepeatedInt64(&message, field, index, integer(r.GetRepeatedInt64(message, field, index)));
    case FieldDescriptor::CPPTYPE_FLOAT:
      return r.SetRepeatedFloat(&message, field, index, static_cast<float>(real()));
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return r.SetRepeatedDouble(&message, field, index, real());
    case FieldDescriptor::CPPTYPE_STRING:
      return r.SetRepeatedString(&message, field, index, text(r.GetRepeatedString(message, field, index)));
    default:
      return;
    }
  }

  std::minstd_rand random;
  std::vector<std::string> strings;
};

} // namespace

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize, unsigned seed) {
  onnx::ModelProto model;
  if (seed % 16 == 0 || !model.ParseFromArray(data, static_cast<int>(size)))
    return LLVMFuzzerMutate(data, size, maxSize);
  Mutator(seed).mutate(model);
  std::string bytes = model.SerializeAsString();
  if (bytes.size() > maxSize)
    return LLVMFuzzerMutate(data, size, maxSize);
  std::copy(bytes.begin(), bytes.end(), data);
  return bytes.size();
}

/// A node of the second model, and what it may need, in the first.
extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t firstSize, const uint8_t *second,
                                            size_t secondSize, uint8_t *out, size_t maxSize, unsigned seed) {
  onnx::ModelProto a, b;
  if (!a.ParseFromArray(first, static_cast<int>(firstSize)) ||
      !b.ParseFromArray(second, static_cast<int>(secondSize)) || b.graph().node_size() == 0)
    return 0;
  std::minstd_rand random(seed);
  onnx::GraphProto &graph = *a.mutable_graph();
  *graph.add_node() = b.graph().node(static_cast<int>(random() % b.graph().node_size()));
  onnx::NodeProto &added = *graph.mutable_node(graph.node_size() - 1);
  // It reads what the first model has.
  for (std::string &input : *added.mutable_input())
    if (graph.node_size() > 1 && random() % 2)
      if (const auto &from = graph.node(static_cast<int>(random() % (graph.node_size() - 1)));
          from.output_size())
        input = from.output(0);
  if (graph.output_size() && added.output_size() && random() % 2)
    graph.mutable_output(0)->set_name(added.output(0));
  std::string bytes = a.SerializeAsString();
  if (bytes.size() > maxSize)
    return 0;
  std::copy(bytes.begin(), bytes.end(), out);
  return bytes.size();
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static int file = memfd_create("model", MFD_CLOEXEC);
  static std::string path = "/proc/self/fd/" + std::to_string(file);
  if (ftruncate(file, 0) != 0 || pwrite(file, data, size, 0) != static_cast<ssize_t>(size))
    abort();
  mlir::MLIRContext &context = freshContext();
  unsigned errors = 0;
  mlir::ScopedDiagnosticHandler count(&context, [&](mlir::Diagnostic &diagnostic) {
    errors += diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error;
    (void)diagnostic.str();
    return mlir::success();
  });
  mlir::OwningOpRef<mlir::ModuleOp> module = zero::importONNX(path, optionsFor(size), &context);
  if (!module && errors == 0) {
    fprintf(stderr, "the importer failed without a diagnostic\n");
    abort();
  }
  if (!module)
    return 0;
  mlir::PassManager passes(&context);
  zero::NNBindBatchOptions batch;
  batch.microBatch = 2;
  passes.addPass(zero::createNNBindBatch(batch));
  passes.addPass(zero::createNNFoldConstants());
  if (mlir::failed(passes.run(*module)) && errors == 0) {
    fprintf(stderr, "a pass failed without a diagnostic\n");
    abort();
  }
  return 0;
}
