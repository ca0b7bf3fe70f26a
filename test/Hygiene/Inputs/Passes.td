def ZeroFreeAtLast : Pass<"zero-free-soon"> {
  let summary = "Frees.";
  let description = [{ Output: nothing }];
}
def ZeroFreeAtLast : Pass<"zero-free-at-last"> {
  let summary = "Frees.";
  let description = [{
    Input:  something
    Output: nothing
    (* example: test/none.mlir *)
  }];
}
