//===- Diagnostics.cpp - Diagnostics in the words of an ONNX user ---------===//
#include "zero/Import/Diagnostics.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace zero {

/// The node's name in `location`, or its place in a file, or nothing.
static std::string describe(Location location) {
  std::string place;
  location->walk([&](Location part) {
    if (auto name = dyn_cast<NameLoc>(part)) {
      place = ("at '" + name.getName().strref() + "'").str();
      return WalkResult::interrupt();
    }
    if (auto file = dyn_cast<FileLineColLoc>(part); file && place.empty())
      place =
          (file.getFilename().strref() + ":" + Twine(file.getLine()) + ":" + Twine(file.getColumn())).str();
    return WalkResult::advance();
  });
  return place;
}

void printDiagnosticsAs(StringRef tool, MLIRContext &context) {
  context.printOpOnDiagnostic(false);
  context.getDiagEngine().registerHandler([tool = tool.str()](Diagnostic &diagnostic) {
    auto print = [&](const Diagnostic &part, DiagnosticSeverity severity) {
      static constexpr StringLiteral names[] = {"note", "warning", "error", "remark"};
      std::string text = part.str(), place = describe(part.getLocation());
      StringRef name =
          StringRef(place).starts_with("at '") ? StringRef(place).drop_front(4).drop_back() : StringRef();
      llvm::errs() << tool << ": " << names[static_cast<int>(severity)] << ": ";
      if (!place.empty() && !(!name.empty() && StringRef(text).contains(name)))
        llvm::errs() << place << ": ";
      llvm::errs() << text << "\n";
    };
    print(diagnostic, diagnostic.getSeverity());
    for (const Diagnostic &note : diagnostic.getNotes())
      print(note, DiagnosticSeverity::Note);
    return success();
  });
}

} // namespace zero
