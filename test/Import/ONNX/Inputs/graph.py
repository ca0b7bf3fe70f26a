"""A model under construction, for the scripts beside this file."""
import numpy as np
from onnx import helper, numpy_helper


class Graph:
    """Nodes and constants of the model under construction; the case at work."""

    def __init__(self, opset):
        self.opset, self.nodes, self.constants, self.cases, self.references, self.count = opset, [], [], [], [], 0

    def const(self, value, dtype=None):
        """A constant node: part of the graph, not a weight."""
        array = np.array(value, dtype=dtype)
        name = self.fresh("const")
        self.nodes.append(helper.make_node("Constant", [], [name], name="node_" + name, value=numpy_helper.from_array(array)))
        return name

    def ints(self, *values):
        return self.const(list(values), np.int64)

    def weight(self, value, name):
        self.constants.append(numpy_helper.from_array(np.asarray(value, np.float32), name))
        return name

    def fresh(self, stem):
        self.count += 1
        return "%s_%d" % (stem, self.count)

    def op(self, op_type, *inputs, outputs=1, **attributes):
        names = [self.fresh(op_type.lower()) for _ in range(outputs)]
        self.nodes.append(helper.make_node(op_type, list(inputs), names, name="node_" + names[0], **attributes))
        return names[0] if outputs == 1 else names

    def case(self, name, output, same_as=None):
        """`same_as`: another output that must have the same numbers, where the reference evaluator lacks this one."""
        self.cases.append((name, output))
        self.references.append(same_as or output)

    def needed(self, outputs):
        """The nodes that these outputs need."""
        wanted, nodes = set(outputs), []
        for node in reversed(self.nodes):
            if wanted.intersection(node.output):
                wanted.update(node.input)
                nodes.insert(0, node)
        return nodes
