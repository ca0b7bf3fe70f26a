//===- UserNames.cpp - What the user calls the place that something is from ===//
#include "zero/Analysis/UserNames.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace zero {

SmallVector<StringRef> getUserNames(Location loc) {
  SmallVector<StringRef> names;
  loc->walk([&](Location part) {
    if (auto name = dyn_cast<NameLoc>(part))
      if (!llvm::is_contained(names, name.getName().getValue()))
        names.push_back(name.getName());
    return WalkResult::advance();
  });
  return names;
}

std::string describeUserNames(Location loc) {
  constexpr size_t kSpelledOut = 3; // of a long group all would say less
  SmallVector<StringRef> names = getUserNames(loc);
  if (names.size() > kSpelledOut)
    return (llvm::join(ArrayRef(names).take_front(kSpelledOut - 1), ", ") + " and " + Twine(names.size() - kSpelledOut + 1) + " more").str();
  if (!names.empty())
    return llvm::join(names, ", ");
  if (auto file = loc->findInstanceOf<FileLineColLoc>())
    if (file.getLine())
      return (file.getFilename().getValue() + ":" + Twine(file.getLine()) + ":" + Twine(file.getColumn())).str();
  return "";
}

} // namespace zero
