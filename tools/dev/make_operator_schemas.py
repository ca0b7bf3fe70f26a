"""make_operator_schemas.py > lib/Import/ONNX/OperatorSchemas.inc: how many inputs and outputs each version of an ONNX operator
has, and the types of its attributes, from the onnx package. A test compares the file with what this prints."""
import onnx

OLDEST, NEWEST = 7, 28
KINDS = {"FLOAT": "f", "INT": "i", "STRING": "s", "TENSOR": "t", "GRAPH": "g", "FLOATS": "F", "INTS": "I", "STRINGS": "S", "TENSORS": "T",
         "GRAPHS": "G", "SPARSE_TENSOR": "x", "SPARSE_TENSORS": "X", "TYPE_PROTO": "p", "TYPE_PROTOS": "P"}


def count(number):
    return "kAny" if number >= 2**31 - 1 else str(number)


def main():
    print("// Made by tools/dev/make_operator_schemas.py from onnx %s. Operator, since version, least and most inputs, least and" % onnx.__version__)
    print("// most outputs, attributes (! if required) with their types.")
    history = {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain in ("", "ai.onnx.preview.training"):
            history.setdefault((schema.domain, schema.name), []).append(schema)
    for (domain, name), schemas in sorted(history.items()):
        schemas.sort(key=lambda schema: schema.since_version)
        said = None  # a version that changed nothing of this has no row
        for schema, following in zip(schemas, schemas[1:] + [None]):
            if schema.since_version > NEWEST or (not domain and following and following.since_version <= OLDEST):
                continue
            attributes = " ".join("%s%s:%s" % (a.name, "!" if a.required else "", KINDS[a.type.name])
                                  for _, a in sorted(schema.attributes.items()))
            row = '%s, %s, %s, %s, "%s"},' % (count(schema.min_input), count(schema.max_input), count(schema.min_output),
                                              count(schema.max_output), attributes)
            if row != said:
                print('{"%s", %d, %s' % ((domain + "." if domain else "") + name, schema.since_version, row))
            said = row


main()
