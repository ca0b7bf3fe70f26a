//===- ZeroDialect.td - The zero dialect: sharded values and collectives --===//
#ifndef ZERO_DIALECTS_ZERO_ZERODIALECT_TD
#define ZERO_DIALECTS_ZERO_ZERODIALECT_TD

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"

def Zero_Dialect : Dialect {
  let name = "zero";
  let cppNamespace = "::zero::sharding";
  let summary = "Meshes, buckets, sharded values and the collectives between them.";
  let description = [{
    Types say who holds what: `!zero.shard` (this rank's range), `!zero.full` (all of it), `!zero.partial` (a
    sum that is still to be reduced), `!zero.future` (in flight; only `zero.wait` takes it). nn compute ops
    stay as they are. Collectives are never `Pure`. See dialects/Zero/README.md.
  }];
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
}

class Zero_Type<string name, string typeMnemonic, list<Trait> traits = []>
    : TypeDef<Zero_Dialect, name, traits> {
  let mnemonic = typeMnemonic;
}
/// `!zero.shard<@b0>` has the bucket's element, which is the parameters'; `!zero.shard<@b0, f32>` has another: master
/// weights and moments of 16-bit parameters, sums and gradients that are kept or sent in another type.
class Zero_BucketType<string name, string typeMnemonic> : Zero_Type<name, typeMnemonic> {
  let parameters = (ins "::mlir::FlatSymbolRefAttr":$bucket,
                        OptionalParameter<"::mlir::Type", "null where it is the bucket's element">:$element);
  let assemblyFormat = "`<` $bucket (`,` $element^)? `>`";
  let builders = [TypeBuilder<(ins "::mlir::FlatSymbolRefAttr":$bucket), [{ return $_get($_ctxt, bucket, ::mlir::Type()); }]>];
}
def Zero_ShardType : Zero_BucketType<"Shard", "shard"> {
  let summary = "The contiguous range of a bucket that this rank owns.";
}
def Zero_FullType : Zero_BucketType<"Full", "full"> { let summary = "A whole bucket, equal on all ranks."; }
def Zero_PartialType : Zero_BucketType<"Partial", "partial"> {
  let summary = "A whole bucket of this rank's contributions to a sum over ranks.";
}
def Zero_FutureType : Zero_Type<"Future", "future"> {
  let summary = "A value that a collective in flight will give.";
  let parameters = (ins "::mlir::Type":$value);
  let assemblyFormat = "`<` $value `>`";
}

class Zero_Attr<string name, string attrMnemonic> : AttrDef<Zero_Dialect, name> {
  let mnemonic = attrMnemonic;
}

def Zero_SlotAttr : Zero_Attr<"Slot", "slot"> {
  let summary = "Where a parameter lies in a bucket: offset in elements (a multiple of 64) and shape.";
  let parameters = (ins StringRefParameter<"the parameter's ONNX name">:$name, "int64_t":$offset,
                        OptionalArrayRefParameter<"int64_t">:$shape);
  let assemblyFormat = "`<` $name `,` `offset` `=` $offset `,` `shape` `=` `[` (`]`) : ($shape^ `]`)? `>`";
  let extraClassDeclaration = [{
    int64_t getNumElements() const;
  }];
}

#endif
