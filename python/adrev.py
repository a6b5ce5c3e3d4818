"""adrev: derivatives of recorded functions, for exploration.

    import adrev, numpy

    f = adrev.record(lambda x: x[0] * adrev.sin(x[1]), [2, 1])
    f([2, 1])                   # array([1.68294197])
    f.gradient([2, 1])          # array([0.84147098, 1.08060461])
    f.hessian([2, 1])           # 2 by 2

    lib = ctypes.CDLL("./model.so")             # void model(const ad_rev *x,
    g = adrev.record(lib.model, x, outputs=3)   #   ad_rev *y, void *ctx)
    g.jacobian_sparse(x)        # CSR: start, column, value

What is recorded is one path through the function: at a point where a comparison
comes out differently, the answer is an Error with the status EPATH. A function
in Python is written with the operators of numbers, and with those of this module
or numpy's: adrev.sin(x), numpy.sin(x).

A failure is an adrev.Error, with `status` and the words of ad_message. Arrays
are numpy's, of float64. A Function may be used by any number of threads, one
after the other; the library's work does not hold the interpreter's lock.

It needs libadrev.so, which `make install` makes. It is looked for in the
variable ADREV_LIBRARY, near this file, and where the system looks.

SPDX-License-Identifier: MIT-0
"""

import collections
import ctypes
import os
import threading
import weakref

import numpy

__all__ = ["Error", "Function", "Number", "CSR", "record", "load", "version"]

SERIES = "0.1"                          # of the library: docs/versions.md
STATUSES = ("OK", "ENOTAPE", "ENOMEM", "EFULL", "ELIMIT", "EFOREIGN", "EPASSIVE",
            "EBEYOND", "ENONFINITE", "ESHAPE", "EMARK", "EHOOK", "EEXTERNAL",
            "EBUSY", "ERACE", "EPATH", "EFROZEN", "EFILE", "ECOMPILE", "ESYNTAX",
            "ESINGULAR", "EUNSOLVED", "EREMOTE")

# --- the library --------------------------------------------------------------


class _Rev(ctypes.Structure):
    """ad_rev."""
    _fields_ = [("v", ctypes.c_double), ("seq", ctypes.c_uint32),
                ("job", ctypes.c_uint32)]


class _Column(ctypes.Structure):
    """ad_column."""
    _fields_ = [("v", ctypes.c_void_p), ("step", ctypes.c_ssize_t)]


class _Sparsity(ctypes.Structure):
    """ad_sparsity."""
    _fields_ = [("nonzeros", ctypes.c_size_t), ("directions", ctypes.c_size_t),
                ("apart", ctypes.c_size_t)]


_VECTOR_FN = ctypes.CFUNCTYPE(None, ctypes.POINTER(_Rev), ctypes.POINTER(_Rev),
                              ctypes.c_void_p)
_WRITE_FN = ctypes.CFUNCTYPE(None, ctypes.POINTER(ctypes.c_char),
                             ctypes.c_size_t, ctypes.c_void_p)


def _find_library():
    """Opens the first libadrev.so that there is."""
    name = "libadrev.so." + SERIES
    here = os.path.dirname(os.path.abspath(__file__))
    if "ADREV_LIBRARY" in os.environ:
        places = [os.environ["ADREV_LIBRARY"]]
    else:
        places = [os.path.join(here, *way, name)
                  for way in ([], ["..", "build"], ["..", "..", "..", "lib"])]
        places = [place for place in places if os.path.exists(place)] + [name]
    try:
        library = ctypes.CDLL(places[0])
    except OSError as error:
        raise ImportError(f"adrev needs {name}, which `make install` makes; "
                          f"ADREV_LIBRARY may say where it is ({error})"
                          ) from error
    library.ad_version.restype = ctypes.c_char_p
    found = library.ad_version().decode()
    if found.rsplit(".", 1)[0] != SERIES:
        raise ImportError(f"adrev {SERIES} needs a library of that version; "
                          f"{places[0]} is {found}")
    return library


_lib = _find_library()
_size = ctypes.c_size_t
_pointer = ctypes.c_void_p


def _declare(result, arguments, *names):
    for name in names:
        function = getattr(_lib, name)
        function.restype = result
        function.argtypes = arguments


_declare(ctypes.c_char_p, [ctypes.c_int], "ad_message")
_declare(ctypes.c_char_p, [], "ad_fn_reason")
_declare(ctypes.c_char_p, [ctypes.c_uint], "ad_op_name")
_declare(ctypes.c_uint, [ctypes.c_uint], "ad_op_arity")
_declare(_Rev, [ctypes.c_uint] + [_Rev], "ad_op1")
_declare(_Rev, [ctypes.c_uint] + [_Rev] * 2, "ad_op2")
_declare(_Rev, [ctypes.c_uint] + [_Rev] * 3, "ad_op3")
_declare(None, [_pointer], "ad_fn_free")
_declare(_size, [_pointer], "ad_fn_inputs", "ad_fn_variables",
         "ad_fn_outputs")
_declare(ctypes.c_int, [_pointer] * 2, "ad_fn_compile")
_declare(ctypes.c_int, [_pointer] * 3, "ad_fn_eval", "ad_fn_jacobian",
         "ad_fn_jacobian_sparse")
_declare(ctypes.c_int, [_pointer] * 4, "ad_fn_gradient", "ad_fn_jvp",
         "ad_fn_vjp", "ad_fn_hessian", "ad_fn_hessian_sparse")
_declare(ctypes.c_int, [_pointer] * 5, "ad_fn_hvp", "ad_fn_jacobian_pattern",
         "ad_fn_hessian_pattern")
_declare(ctypes.c_int, [_pointer] * 3 + [_size, _pointer], "ad_fn_taylor")
_declare(ctypes.c_int, [_pointer, _size] + [_pointer] * 3, "ad_fn_map")
_declare(ctypes.c_int, [_pointer, _size] + [_pointer] * 5, "ad_fn_map_vjp")
_declare(ctypes.c_int, [_pointer] * 3 + [_size, _pointer, _size], "ad_fn_record")
_declare(ctypes.c_int, [_pointer, _pointer] + [_size, _pointer] * 2,
         "ad_fn_select")
_declare(ctypes.c_int, [_pointer, _WRITE_FN, _pointer], "ad_fn_save")
_declare(ctypes.c_int, [_pointer, _pointer, _size, _pointer], "ad_fn_load")
_declare(ctypes.c_int, [_pointer, _pointer, _WRITE_FN, _pointer, _pointer],
         "ad_fn_write_c")


def version():
    """The version of the library."""
    return _lib.ad_version().decode()


class Error(Exception):
    """A status other than OK. `status` is its name, such as "EPATH"."""

    def __init__(self, code, more=""):
        self.status = STATUSES[code] if code < len(STATUSES) else str(code)
        text = _lib.ad_message(code).decode()
        super().__init__(f"{self.status}: {text}" + (f" ({more})" if more else ""))


def _must(code, more=""):
    if code != 0:
        raise Error(code, more)


# --- numbers ------------------------------------------------------------------


def _codes():
    """The codes of all operations, by name."""
    codes = {}
    while _lib.ad_op_name(len(codes)) is not None:
        codes[_lib.ad_op_name(len(codes)).decode()] = len(codes)
    return codes


_CODES = _codes()
_BY_ARITY = (None, _lib.ad_op1, _lib.ad_op2, _lib.ad_op3)
_NUMPY_NAMES = {
    "add": "add", "subtract": "sub", "multiply": "mul", "true_divide": "div",
    "divide": "div", "negative": "neg", "square": "sqr", "absolute": "abs",
    "fabs": "abs", "minimum": "min", "maximum": "max", "power": "pow",
    "float_power": "pow", "arcsin": "asin", "arccos": "acos", "arctan": "atan",
    "arctan2": "atan2", "arcsinh": "asinh", "arccosh": "acosh",
    "arctanh": "atanh", "logaddexp": "log_add_exp", "less": "lt",
    "less_equal": "le", "greater": "gt", "greater_equal": "ge", "equal": "eq",
    "not_equal": "ne"}
_SAME_IN_NUMPY = ("sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan "
                  "sinh cosh tanh hypot fmod copysign sign floor ceil trunc rint "
                  "ldexp").split()


def _operand(x):
    if isinstance(x, Number):
        return x.rev
    return _Rev(float(x), 0, 0)


def _operate(name, *arguments):
    """An operation of numbers. Of plain ones alone, a float."""
    rev = _BY_ARITY[len(arguments)](_CODES[name], *map(_operand, arguments))
    if any(isinstance(x, Number) for x in arguments):
        return Number(rev)
    return rev.v


class Number:
    """A number while a function is recorded."""

    __slots__ = ("rev",)
    __array_priority__ = 1000

    def __init__(self, rev):
        self.rev = rev

    def __repr__(self):
        return f"Number({self.rev.v!r})"

    def __add__(self, other): return _binary("add", self, other)
    def __radd__(self, other): return _binary("add", other, self)
    def __sub__(self, other): return _binary("sub", self, other)
    def __rsub__(self, other): return _binary("sub", other, self)
    def __mul__(self, other): return _binary("mul", self, other)
    def __rmul__(self, other): return _binary("mul", other, self)
    def __truediv__(self, other): return _binary("div", self, other)
    def __rtruediv__(self, other): return _binary("div", other, self)
    def __rpow__(self, other): return _binary("pow", other, self)
    def __neg__(self): return _operate("neg", self)
    def __pos__(self): return self
    def __abs__(self): return _operate("abs", self)
    def __lt__(self, other): return _compare("lt", self, other)
    def __le__(self, other): return _compare("le", self, other)
    def __gt__(self, other): return _compare("gt", self, other)
    def __ge__(self, other): return _compare("ge", self, other)
    def __eq__(self, other): return _compare("eq", self, other)
    def __ne__(self, other): return _compare("ne", self, other)
    __hash__ = None

    def __pow__(self, other):
        if isinstance(other, int):
            return _operate("sqr", self) if other == 2 else \
                _operate("powi", self, other)
        return _binary("pow", self, other)

    def __bool__(self):
        return _compare("ne", self, 0)

    def __float__(self):
        raise TypeError("a recorded number is no float: its derivative would be "
                        "lost. Use functions of adrev or numpy, not of math")

    def __array_ufunc__(self, ufunc, method, *arguments, **options):
        name = _NUMPY_NAMES.get(ufunc.__name__)
        if name is None and ufunc.__name__ in _SAME_IN_NUMPY:
            name = ufunc.__name__
        if method != "__call__" or options or name is None:
            return NotImplemented
        if any(isinstance(x, numpy.ndarray) for x in arguments):
            return numpy.frompyfunc(lambda *x: _operate(name, *x),
                                    len(arguments), 1)(*arguments)
        return _operate(name, *arguments)


def _binary(name, x, y):
    if isinstance(x, numpy.ndarray) or isinstance(y, numpy.ndarray):
        return numpy.frompyfunc(lambda a, b: _operate(name, a, b), 2, 1)(x, y)
    try:
        return _operate(name, x, y)
    except (TypeError, ValueError):
        return NotImplemented


def _compare(name, x, y):
    """A comparison is a guard of the recording, and a bool from then on."""
    result = _binary(name, x, y)
    return result.rev.v != 0 if isinstance(result, Number) else result


def _front(name, arity):
    """A function of this module for an operation; elementwise on arrays."""
    def function(*arguments):
        if any(isinstance(x, (list, tuple, numpy.ndarray)) for x in arguments):
            result = numpy.frompyfunc(function, arity, 1)(*arguments)
            plain = all(not isinstance(x, Number) for x in result.flat)
            return result.astype(float) if plain else result
        return _operate(name, *arguments)
    function.__name__ = name
    function.__doc__ = f"{name}: see docs/operations.md of adrev."
    # numpy's functions of object arrays call methods: numpy.sin(x), x.sin().
    if arity == 1:
        setattr(Number, name, lambda self: _operate(name, self))
    return function


def _make_fronts():
    for name, code in _CODES.items():
        globals()[name] = _front(name, _lib.ad_op_arity(code))
    for numpys, ours in _NUMPY_NAMES.items():
        if _lib.ad_op_arity(_CODES[ours]) == 1:
            setattr(Number, numpys, getattr(Number, ours))


_make_fronts()

# --- functions ----------------------------------------------------------------

CSR = collections.namedtuple("CSR", "shape start column value")
CSR.__doc__ = """A sparse matrix by rows: row i has the entries start[i] to
start[i + 1] - 1 of column and value. scipy.sparse.csr_matrix((value, column,
start), shape) takes them as they are."""


def _dense(self):
    """All entries, as an array of two dimensions."""
    whole = numpy.zeros(self.shape)
    for i in range(self.shape[0]):
        part = slice(self.start[i], self.start[i + 1])
        whole[i, self.column[part]] = self.value[part]
    return whole


CSR.dense = _dense


def _mirrored(n, start, column, value):
    """Both triangles of the symmetric matrix of which this is the lower one."""
    row = numpy.repeat(numpy.arange(n), numpy.diff(start))
    apart = row != column
    rows = numpy.concatenate([row, column[apart]])
    columns = numpy.concatenate([column, row[apart]])
    order = numpy.lexsort((columns, rows))
    counts = numpy.bincount(rows, minlength=n)
    return CSR((n, n), numpy.concatenate([[0], numpy.cumsum(counts)]),
               columns[order], numpy.concatenate([value, value[apart]])[order])


def _vector(x, n, what):
    x = numpy.ascontiguousarray(x, dtype=numpy.float64)
    if x.shape != (n,):
        raise ValueError(f"{what} has the shape {x.shape}, not ({n},)")
    return x


def _at(array):
    return array.ctypes.data


class Function:
    """A recorded function of n inputs and m results. Made by record and load.
    Derivatives are by its variables, the first inputs: all, but for select."""

    def __init__(self, handle):
        self._lock = threading.RLock()
        self._handle = handle
        self._free = weakref.finalize(self, _lib.ad_fn_free, handle)
        self.inputs = _lib.ad_fn_inputs(handle)
        self.variables = _lib.ad_fn_variables(handle)
        self.outputs = _lib.ad_fn_outputs(handle)

    def close(self):
        """Frees the function now. It may be called again, and by any thread."""
        with self._lock:
            self._handle = None
            self._free()

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        self.close()

    def __repr__(self):
        return f"<adrev.Function of {self.inputs} inputs, {self.outputs} results>"

    def _call(self, name, *arguments):
        with self._lock:
            if self._handle is None:
                raise ValueError("the function is closed")
            _must(getattr(_lib, name)(self._handle, *arguments))

    def _weights(self, w):
        if w is None:
            w = numpy.ones(self.outputs)
        return _vector(w, self.outputs, "w")

    def __call__(self, x):
        """Values at a point, x[n]; or at many, x[points, n], side by side."""
        x = numpy.ascontiguousarray(x, dtype=numpy.float64)
        if x.ndim == 2:
            return self._map(x)
        x = _vector(x, self.inputs, "x")
        y = numpy.empty(self.outputs)
        self._call("ad_fn_eval", _at(x), _at(y))
        return y

    def _columns(self, array, count):
        if array.shape[1] != count:
            raise ValueError(f"{array.shape[1]} columns, not {count}")
        return (_Column * (count or 1))(
            *[_Column(_at(array) + 8 * i, count) for i in range(count)])

    def _map(self, x):
        y = numpy.full((len(x), self.outputs), numpy.nan)
        self._call("ad_fn_map", len(x), self._columns(x, self.inputs),
                   self._columns(y, self.outputs), None)
        return y

    def gradient(self, x):
        """Gradient of the only result, [n]; at many points, [points, n]."""
        x = numpy.ascontiguousarray(x, dtype=numpy.float64)
        if x.ndim == 2 and self.outputs == 1:
            g = numpy.zeros((len(x), self.variables))
            one = ctypes.c_double(1)
            w = _Column(ctypes.addressof(one), 0)
            self._call("ad_fn_map_vjp", len(x), self._columns(x, self.inputs),
                       ctypes.byref(w), self._columns(g, self.variables), None,
                       None)
            return g
        x = _vector(x, self.inputs, "x")
        g = numpy.empty(self.variables)
        self._call("ad_fn_gradient", _at(x), None, _at(g))
        return g

    def jvp(self, x, v):
        """J v."""
        x = _vector(x, self.inputs, "x")
        v = _vector(v, self.variables, "v")
        dy = numpy.empty(self.outputs)
        self._call("ad_fn_jvp", _at(x), _at(v), _at(dy))
        return dy

    def vjp(self, x, w):
        """w J."""
        x = _vector(x, self.inputs, "x")
        w = _vector(w, self.outputs, "w")
        dx = numpy.empty(self.variables)
        self._call("ad_fn_vjp", _at(x), _at(w), _at(dx))
        return dx

    def hvp(self, x, v, w=None):
        """H v, of the sum of w[i] y[i]; w: ones if left out."""
        x = _vector(x, self.inputs, "x")
        v = _vector(v, self.variables, "v")
        w = self._weights(w)
        hv = numpy.empty(self.variables)
        self._call("ad_fn_hvp", _at(x), _at(w), _at(v), _at(hv))
        return hv

    def jacobian(self, x):
        """J[m, n]."""
        x = _vector(x, self.inputs, "x")
        J = numpy.empty((self.outputs, self.variables))
        self._call("ad_fn_jacobian", _at(x), _at(J))
        return J

    def hessian(self, x, w=None):
        """H[n, n] of the sum of w[i] y[i]; w: ones if left out."""
        x = _vector(x, self.inputs, "x")
        w = self._weights(w)
        H = numpy.empty((self.variables, self.variables))
        self._call("ad_fn_hessian", _at(x), _at(w), _at(H))
        return H

    def _pattern(self, which, rows):
        about = _Sparsity()
        name = f"ad_fn_{which}_pattern"
        self._call(name, ctypes.byref(about), None, None, None)
        start = numpy.empty(rows + 1, dtype=numpy.uintp)
        column = numpy.empty(about.nonzeros, dtype=numpy.uintp)
        self._call(name, ctypes.byref(about), _at(start), None, _at(column))
        return start.astype(numpy.int64), column.astype(numpy.int64)

    def jacobian_sparse(self, x):
        """J as a CSR."""
        x = _vector(x, self.inputs, "x")
        start, column = self._pattern("jacobian", self.outputs)
        value = numpy.empty(len(column))
        self._call("ad_fn_jacobian_sparse", _at(x), _at(value))
        return CSR((self.outputs, self.variables), start, column, value)

    def hessian_sparse(self, x, w=None):
        """H of the sum of w[i] y[i] as a CSR, both triangles."""
        x = _vector(x, self.inputs, "x")
        w = self._weights(w)
        start, column = self._pattern("hessian", self.variables)
        value = numpy.empty(len(column))
        self._call("ad_fn_hessian_sparse", _at(x), _at(w), _at(value))
        return _mirrored(self.variables, start, column, value)

    def taylor(self, x, v, order):
        """Coefficients of f(x + t v), [order + 1, m]; row k is that of t**k."""
        x = _vector(x, self.inputs, "x")
        v = _vector(v, self.variables, "v")
        y = numpy.empty((order + 1, self.outputs))
        self._call("ad_fn_taylor", _at(x), _at(v), order, _at(y))
        return y

    def select(self, variables=None, outputs=None):
        """The same function with derivatives by these inputs only, which come
        first then, and with these results; None: all."""
        def chosen(which):
            if which is None:
                return 0, None
            which = numpy.asarray(which)
            if which.ndim != 1 or (which.size and which.dtype.kind not in "iu"):
                raise ValueError("a choice is a list of whole numbers")
            return len(which), numpy.ascontiguousarray(which, dtype=numpy.uintp)
        (nv, variable), (m, output) = chosen(variables), chosen(outputs)
        handle = _pointer()
        with self._lock:
            if self._handle is None:
                raise ValueError("the function is closed")
            _must(_lib.ad_fn_select(
                ctypes.byref(handle), self._handle,
                nv, None if variable is None else _at(variable),
                m, None if output is None else _at(output)))
        return Function(handle.value)

    def compile(self):
        """Has the system's C compiler compile the function: docs/compiling.md."""
        self._call("ad_fn_compile", None)

    def c_code(self):
        """The function as C99."""
        pieces = []
        write = _WRITE_FN(lambda text, n, user: pieces.append(text[:n]))
        self._call("ad_fn_write_c", None, write, None, None)
        return b"".join(pieces).decode()

    def save(self, path):
        """Writes the function into a file."""
        pieces = []
        write = _WRITE_FN(lambda text, n, user: pieces.append(text[:n]))
        self._call("ad_fn_save", write, None)
        with open(path, "wb") as file:
            file.write(b"".join(pieces))

    def plot(self, x, index=0, span=1.0, points=200, axes=None):
        """Results, and their derivatives by input `index`, along that input from
        x[index] - span to x[index] + span. Needs matplotlib; returns its axes."""
        if axes is None:
            from matplotlib import pyplot
            axes = pyplot.subplots(2, 1, sharex=True)[1]
        x = _vector(x, self.inputs, "x")
        where = numpy.tile(x, (points, 1))
        where[:, index] = numpy.linspace(x[index] - span, x[index] + span, points)
        along = numpy.zeros(self.variables)
        along[index] = 1
        slopes = numpy.array([self.jvp(p, along) for p in where])
        axes[0].plot(where[:, index], self(where))
        axes[0].set_ylabel("y")
        axes[1].plot(where[:, index], slopes)
        axes[1].set_ylabel(f"dy/dx[{index}]")
        axes[1].set_xlabel(f"x[{index}]")
        return axes



def _in_python(f, n, m, failures):
    """A callback that runs f on numbers. What f raises is kept, since C cannot
    pass it on; then no result is set, and the recording fails."""
    def run(x, y, _):
        try:
            arguments = numpy.empty(n, dtype=object)
            for i in range(n):
                arguments[i] = Number(_Rev(x[i].v, x[i].seq, x[i].job))
            results = numpy.atleast_1d(numpy.asarray(f(arguments), dtype=object))
            if results.shape != (m,):
                raise ValueError(f"the function has {results.shape} results, "
                                 f"not ({m},)")
            for i in range(m):
                y[i] = _operand(results[i])
        except BaseException as error:      # noqa: C must return
            failures.append(error)
    return _VECTOR_FN(run)


def record(f, x, outputs=None, context=None):
    """Records f at x, and returns a Function.

    f        a function in Python, of an array of Numbers, which returns a
             number or an array of numbers; or one of a library of yours,
             void f(const ad_rev *x, ad_rev *y, void *context), compiled with
             ADREV_TRACE against libadrev.so
    outputs  how many results f has; may be left out in Python: then f is called
             once with floats
    """
    x = numpy.ascontiguousarray(x, dtype=numpy.float64)
    if x.ndim != 1:
        raise ValueError("x has one dimension")
    failures = []
    if isinstance(f, ctypes._CFuncPtr):
        if outputs is None:
            raise TypeError("how many outputs has the function of C?")
        callback = f
    else:
        if outputs is None:
            outputs = numpy.size(f(x.copy()))
        callback = _in_python(f, len(x), outputs, failures)
    handle = ctypes.c_void_p()
    status = _lib.ad_fn_record(ctypes.addressof(handle),
                               ctypes.cast(callback, ctypes.c_void_p), context,
                               len(x), _at(x), outputs)
    if failures:
        if handle:
            _lib.ad_fn_free(handle)
        raise failures[0]
    _must(status, "" if status == 0 else _lib.ad_fn_reason().decode())
    return Function(handle)


def load(path):
    """The Function that was saved in a file."""
    with open(path, "rb") as file:
        data = file.read()
    handle = ctypes.c_void_p()
    _must(_lib.ad_fn_load(ctypes.addressof(handle), data, len(data), None))
    return Function(handle)
