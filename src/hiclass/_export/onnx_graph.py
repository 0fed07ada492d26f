"""Writing ONNX graphs: operations by name, constants, and embedded graphs of skl2onnx."""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

import numpy as np

from hiclass._typing import AnyArray, IntArray

#: Supported by ONNX Runtime 1.14 and newer.
OPSETS = {"": 18, "ai.onnx.ml": 3}
_IR_VERSION = 8


def import_onnx() -> tuple[Any, Any]:
    """The packages onnx and skl2onnx, or an error with installation instructions."""
    try:
        import onnx
        import skl2onnx
    except ImportError as error:
        error.add_note("Install them with: pip install onnx skl2onnx")
        raise
    return onnx, skl2onnx


class Graph:
    """A graph to which operations are added; values are identified by their names.

    Parameters
    ----------
    n_features : int
        Number of columns of the input ``X``.
    dtype : dtype
        Its type.

    Attributes
    ----------
    x : str
        The rows that the model reads, with 64 bits: the input, or what transformers make of it.
    width : int
        Their number of columns.
    """

    def __init__(self, n_features: int, dtype: np.dtype[Any]) -> None:
        self._onnx, self._skl2onnx = import_onnx()
        self.width = n_features
        self._nodes: list[Any] = []
        self._constants: dict[Any, Any] = {}
        self._outputs: list[Any] = []
        self._opsets = dict(OPSETS)
        self._input = self._value("X", dtype, [n_features])
        self.x = "X" if dtype == np.float64 else self.cast("X", np.float64)
        self._n_rows = ""
        self._longer: dict[str, str] = {}
        self._transposed: dict[str, str] = {}
        self._loadable: set[frozenset[tuple[str, str]]] = set()

    def _type(self, dtype: Any) -> int:
        dtype = np.dtype(dtype)
        if dtype.kind in "OU":
            return int(self._onnx.TensorProto.STRING)
        return int(self._onnx.helper.np_dtype_to_tensor_dtype(dtype))

    def _value(self, name: str, dtype: Any, shape: Any) -> Any:
        return self._onnx.helper.make_tensor_value_info(name, self._type(dtype), ["n", *shape])

    def _new_name(self) -> str:
        return f"v{len(self._nodes)}"

    # -- operations ----------------------------------------------------------------------------

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add an operation; return the name of its result."""
        name = self._new_name()
        self._nodes.append(self._onnx.helper.make_node(kind, inputs, [name], name, **attributes))
        return name

    def constant(self, value: AnyArray, integers: Any = np.int64) -> str:
        """Add a constant; equal constants are shared."""
        if value.dtype.kind == "i":
            value = value.astype(integers)
        objects = value.dtype.kind == "O"
        content = tuple(value.flat) if objects else blake2b(value.tobytes()).digest()
        key = value.dtype.str, value.shape, content
        if key not in self._constants:
            name = f"c{len(self._constants)}"
            self._constants[key] = self._onnx.numpy_helper.from_array(value, name)
        return str(self._constants[key].name)

    def cast(self, value: str, dtype: Any) -> str:
        """Change the type of a value."""
        return self.op("Cast", value, to=self._type(dtype))

    def reshape(self, value: str, shape: list[int]) -> str:
        """Change the shape of a value; 0 keeps a length."""
        return self.op("Reshape", value, self.constant(np.array(shape)))

    def concat(self, values: list[str], axis: int = 1) -> str:
        """Concatenate columns."""
        return values[0] if len(values) == 1 else self.op("Concat", *values, axis=axis)

    def take(self, values: str, index: str, axis: int) -> str:
        """Look up entries."""
        return self.op("Gather", values, index, axis=axis)

    def pick(self, value: str, columns: IntArray) -> str:
        """Select columns in a given order."""
        return self.take(value, self.indices(columns), 1)

    def indices(self, numbers: AnyArray) -> str:
        """Positions to look up, as a constant."""
        return self.constant(numbers, np.int32)

    @property
    def transposed_x(self) -> str:
        """``x`` with one row per column."""
        if self.x not in self._transposed:
            self._transposed[self.x] = self.op("Transpose", self.x)
        return self._transposed[self.x]

    def argmax(self, value: str, axis: int) -> str:
        """The first of the largest entries."""
        return self.op("ArgMax", value, axis=axis, keepdims=0)

    def _count_rows(self) -> None:
        if not self._n_rows:
            self._n_rows = self.op("Shape", "X", start=0, end=1)

    def same_for_all_rows(self, row: AnyArray) -> str:
        """A constant repeated for every row of the input."""
        self._count_rows()
        shape = self.op("Concat", self._n_rows, self.constant(np.array([len(row)])), axis=0)
        return self.op("Expand", self.constant(row.reshape(1, -1)), shape)

    # -- estimators that skl2onnx converts -----------------------------------------------------

    def with_a_row(self) -> str:
        """``x``, with a row of zeros if it has no rows, because many operations need one.

        :meth:`without_it` removes the row again.
        """
        if self.x not in self._longer:
            self._count_rows()
            one = self.constant(np.array([1]))
            n_more = self.op("Sub", one, self.op("Min", self._n_rows, one))
            shape = self.op("Concat", n_more, self.constant(np.array([self.width])), axis=0)
            more = self.op("Expand", self.constant(np.zeros((1, self.width))), shape)
            self._longer[self.x] = self.op("Concat", self.x, more, axis=0)
        return self._longer[self.x]

    def without_it(self, value: str) -> str:
        """The rows of a value, as many as the input has."""
        self._count_rows()
        first = self.constant(np.array([0]))
        return self.op("Slice", value, first, self._n_rows, first)

    def continue_with(self, value: str, width: int) -> None:
        """Replace ``x`` by another value, such as the output of transformers."""
        self.x, self.width = value, width

    def convert_transformer(self, transformer: Any, source: str) -> str:
        """Add the graph of a transformer by skl2onnx; return its output rows."""
        return self.cast(self._convert(transformer, 0, source, narrow=False), np.float64)

    def convert_classifier(self, classifier: Any, source: str) -> str:
        """Add the graph of a classifier by skl2onnx; return its probabilities."""
        narrow = _is_narrow(classifier)
        source = self.cast(source, np.float32) if narrow else source
        options = {id(classifier): {"zipmap": False}}
        proba = self._convert(classifier, 1, source, narrow, options=options)
        return self.cast(proba, np.float64)

    def _convert(
        self, estimator: Any, wanted: int, source: str, narrow: bool, **options: Any
    ) -> str:
        """Add the part of a graph by skl2onnx that one of its outputs needs; return its name.

        The labels of a classifier, its other output, are not needed and would take time.
        """
        types = self._skl2onnx.common.data_types
        kind = types.FloatTensorType if narrow else types.DoubleTensorType
        shape = [None, getattr(estimator, "n_features_in_", None)]
        converted = self._skl2onnx.convert_sklearn(
            estimator, initial_types=[("X", kind(shape))], target_opset=OPSETS, **options
        )
        # It may mix 32-bit and 64-bit numbers: ONNX Runtime rejects some of these graphs, and in
        # others, trees see other numbers than in Python.
        self._onnx.checker.check_model(converted, full_check=True)
        self._check_operations(converted)
        prefix = f"{self._new_name()}_"
        part = self._onnx.compose.add_prefix(converted, prefix)
        output = part.graph.output[wanted].name
        nodes, needed = _needed(part.graph.node, output)
        self._nodes.append(
            self._onnx.helper.make_node("Identity", [source], [f"{prefix}X"], f"{prefix}input")
        )
        self._nodes.extend(nodes)
        tensors = [tensor for tensor in part.graph.initializer if tensor.name in needed]
        self._constants |= {tensor.name: tensor for tensor in tensors}
        for used in part.opset_import:
            self._opsets.setdefault(used.domain, used.version)
        return str(output)

    def _check_operations(self, converted: Any) -> None:
        """Reject a graph that ONNX Runtime cannot load, if it is installed.

        It does not have all operations for 64 bits. Each set of operations is tried once.
        """
        try:
            import onnxruntime
        except ImportError:
            return
        operations = frozenset((node.domain, node.op_type) for node in converted.graph.node)
        if operations in self._loadable:
            return
        options = onnxruntime.SessionOptions()
        options.log_severity_level = 4  # the error is sufficient
        content = converted.SerializeToString()
        onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
        self._loadable.add(operations)

    # -- the result ----------------------------------------------------------------------------

    def output(self, name: str, value: str, dtype: Any, shape: Any) -> None:
        """Name a value and make it an output; ``shape`` is that of one row."""
        self._nodes.append(self._onnx.helper.make_node("Identity", [value], [name], name))
        self._outputs.append(self._value(name, dtype, shape))

    def model(self, metadata: dict[str, str]) -> Any:
        """The finished model, checked."""
        helper = self._onnx.helper
        graph = helper.make_graph(
            self._nodes,
            "hiclass",
            [self._input],
            self._outputs,
            list(self._constants.values()),
        )
        model = helper.make_model(
            graph,
            producer_name="hiclass",
            producer_version=metadata["hiclass.version"],
            ir_version=_IR_VERSION,
            opset_imports=[helper.make_opsetid(d, v) for d, v in sorted(self._opsets.items())],
        )
        helper.set_model_props(model, metadata)
        self._onnx.checker.check_model(model)
        return model


def _needed(nodes: Any, output: str) -> tuple[list[Any], set[str]]:
    """The operations that an output depends on, and the names of all values that they use."""
    needed = {output}
    kept = []
    for node in reversed(nodes):
        if needed.intersection(node.output):
            kept.append(node)
            needed.update(_inputs(node))
    return kept[::-1], needed


def _inputs(node: Any) -> set[str]:
    """The values that an operation uses, including the graphs of a loop."""
    names = set(node.input)
    for attribute in node.attribute:
        for inner in attribute.g.node:
            names |= _inputs(inner)
    return names


def n_features_of(first: Any) -> int:
    """The number of columns of the input, from the first estimator that reads it."""
    n_features = getattr(first, "n_features_in_", None)
    if n_features is None:
        raise ValueError(
            f"This {type(first).__name__} was not fitted on a matrix. Only models on numeric rows "
            f"can be converted to ONNX. Convert texts to numbers before the model."
        )
    return int(n_features)


def _is_narrow(classifier: Any) -> bool:
    """Whether a classifier reads its rows with 32 bits, as scikit-learn's trees do."""
    trees = getattr(classifier, "estimators_", [classifier])
    first = trees.flat[0] if isinstance(trees, np.ndarray) else trees[0]
    return hasattr(first, "tree_")
