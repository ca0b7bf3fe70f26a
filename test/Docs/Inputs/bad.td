include "mlir/IR/OpBase.td"

def Bad_Dialect : Dialect {
  let name = "bad";
}
def Bad_WrongOp : Op<Bad_Dialect, "wrong"> {
  let description = [{
    ```mlir
    bad.wrong
    ```
  }];
}
def Bad_SilentOp : Op<Bad_Dialect, "silent">;
