"""The module for Python: python3 tests/python/adrev_test.py MODEL.so DIR

Expected values are closed forms, or central differences of plain floats.
SPDX-License-Identifier: MIT-0
"""

import ctypes
import gc
import math
import os
import subprocess
import sys
import threading

import numpy

import adrev

passed = failed = 0


def check(ok, text):
    global passed, failed
    passed, failed = passed + bool(ok), failed + (not ok)
    if not ok:
        print("adrev_test.py:", text)


def near(got, want, text, relative=1e-13):
    got, want = numpy.asarray(got), numpy.asarray(want)
    size = max(1.0, abs(want).max()) if want.size else 1.0
    check(got.shape == want.shape and (abs(got - want) <= relative * size).all(),
          f"{text}: got {got}, want {want}")


def fails(status, f, text):
    try:
        f()
    except adrev.Error as error:
        check(error.status == status, f"{text}: {error}")
        return str(error)
    check(False, f"{text}: no error")
    return ""


def raises(kind, f, text):
    try:
        f()
    except kind:
        check(True, text)
    else:
        check(False, f"{text}: nothing was raised")


def rosenbrock(x):
    return (1 - x[0]) ** 2 + 100 * (x[1] - x[0] ** 2) ** 2


def test_derivatives():
    x = numpy.array([-1.2, 1.0])
    f = adrev.record(rosenbrock, x)
    a, b = x
    gradient = [-2 * (1 - a) - 400 * a * (b - a * a), 200 * (b - a * a)]
    hessian = [[2 - 400 * (b - 3 * a * a), -400 * a], [-400 * a, 200]]
    near(f(x), [rosenbrock(x)], "value")
    near(f.gradient(x), gradient, "gradient")
    near(f.hessian(x), hessian, "hessian")
    near(f.jacobian(x), [gradient], "jacobian")
    near(f.hvp(x, [1, 2]), numpy.dot(hessian, [1, 2]), "hvp")
    near(f.hvp(x, [1, 2], w=[3]), 3 * numpy.dot(hessian, [1, 2]), "hvp, w")
    near(f.jvp(x, [1, 2]), [numpy.dot(gradient, [1, 2])], "jvp")
    near(f.vjp(x, [2]), 2 * numpy.array(gradient), "vjp")
    near(f.hessian_sparse(x).dense(), hessian, "sparse hessian")
    half = numpy.dot(numpy.dot(hessian, [1, 2]), [1, 2]) / 2
    near(f.taylor(x, [1, 2], 2)[:, 0],
         [rosenbrock(x), numpy.dot(gradient, [1, 2]), half], "taylor")
    points = numpy.random.default_rng(1).normal(size=(100, 2))
    near(f(points)[:, 0], [rosenbrock(p) for p in points], "map")
    near(f.gradient(points), [f.gradient(p) for p in points], "map of gradients")
    near(f(points[::3])[:, 0], [rosenbrock(p) for p in points[::3]], "a slice")


def test_sparse():
    def chain(x):
        return [x[i + 1] * x[i] for i in range(5)]
    x = numpy.arange(1.0, 7)
    J = adrev.record(chain, x).jacobian_sparse(x)
    want = numpy.zeros((5, 6))
    for i in range(5):
        want[i, i], want[i, i + 1] = x[i + 1], x[i]
    near(J.dense(), want, "sparse jacobian")
    check(J.start.tolist() == [0, 2, 4, 6, 8, 10], f"start {J.start}")
    check(len(J.value) == 10 and J.shape == (5, 6), "entries")


def test_choice(folder):
    def two(x):
        return [x[0] * x[1] ** 2, numpy.sin(x[2]) * x[0]]
    f = adrev.record(two, [1, 2, 3])
    g = f.select(variables=[2, 0])          # inputs are x2, x0, x1
    x = numpy.array([3.0, 1, 2])
    J = [[0, 4], [math.cos(3), math.sin(3)]]
    check((g.inputs, g.variables, g.outputs) == (3, 2, 2), "numbers")
    near(g(x), [4, math.sin(3)], "values of a choice")
    near(g.jacobian(x), J, "jacobian of a choice")
    near(g.jacobian_sparse(x).dense(), J, "its sparse jacobian")
    near(g.jvp(x, [1, 2]), numpy.dot(J, [1, 2]), "its jvp")
    near(g.vjp(x, [1, 2]), numpy.dot([1, 2], J), "its vjp")
    near(g.taylor(x, [1, 2], 1)[1], numpy.dot(J, [1, 2]), "its taylor")
    H = [[-math.sin(3), math.cos(3)], [math.cos(3), 0]]
    near(g.hessian(x), H, "its hessian")
    near(g.hessian_sparse(x).dense(), H, "its sparse hessian")
    near(g.hvp(x, [1, 2]), numpy.dot(H, [1, 2]), "its hvp")
    one = f.select([2, 0], [1])
    near(one.gradient(x), J[1], "gradient of one result")
    near(one.gradient(numpy.array([x, x])), [J[1], J[1]], "at two points")
    path = os.path.join(folder, "choice")
    g.save(path)
    near(adrev.load(path).jacobian(x), J, "a saved choice")
    fails("ESHAPE", lambda: f.select(variables=[3]), "no such input")
    fails("ESHAPE", lambda: f.select(variables=[0, 0]), "an input twice")
    fails("ESHAPE", lambda: f.select(outputs=[]), "no results")
    raises(ValueError, lambda: f.select(variables=[0.5]), "half an input")
    raises(ValueError, lambda: g.jvp(x, [1, 2, 3]), "too long a direction")


def difference(f, x):
    return (f(x + 1e-6) - f(x - 1e-6)) / 2e-6


def test_operations():
    """Each function that numpy has, in both spellings, against differences."""
    for name in ("sqrt cbrt exp exp2 expm1 log log2 log10 log1p sin cos tan "
                 "arcsin arccos arctan sinh cosh tanh arcsinh arctanh square "
                 "absolute negative fabs").split():
        ours = {"arcsin": "asin", "arccos": "acos", "arctan": "atan",
                "arcsinh": "asinh", "arctanh": "atanh", "square": "sqr",
                "absolute": "abs", "negative": "neg", "fabs": "abs"}
        function = getattr(numpy, name)
        for written in (function, getattr(adrev, ours.get(name, name))):
            f = adrev.record(lambda x: written(x[0]), [0.4])
            near(f([0.4]), [function(0.4)], name, 1e-15)
            near(f.gradient([0.4]), [difference(function, 0.4)], name, 1e-8)
        g = adrev.record(lambda x: numpy.sum(function(x)), [0.4, 0.3])
        near(g([0.4, 0.3]), [function(0.4) + function(0.3)], name, 1e-15)
    for text, f in {
            "2 - x": lambda x: 2 - x, "2 / x": lambda x: 2 / x,
            "x / 2": lambda x: x / 2, "x ** 3": lambda x: x ** 3,
            "x ** -1": lambda x: x ** -1, "x ** 0.5": lambda x: x ** 0.5,
            "2 ** x": lambda x: 2 ** x, "x ** x": lambda x: x ** x,
            "float64": lambda x: numpy.float64(3) * x + x * numpy.float64(2),
            "arctan2": lambda x: numpy.arctan2(x, 2),
            "hypot": lambda x: numpy.hypot(x, 3.0),
            "maximum": lambda x: numpy.maximum(x, 0.1),
            "where": lambda x: x * 3 if x > 0.2 else x * 5}.items():
        recorded = adrev.record(lambda x: f(x[0]), [0.4])
        near(recorded([0.45]), [f(0.45)], text, 1e-15)
        near(recorded.gradient([0.45]), [difference(f, 0.45)], text, 1e-8)
    A = numpy.array([[1.0, 2], [3, 4], [5, 6]])
    near(adrev.record(lambda x: A @ x, [1, 1]).jacobian([1, 1]), A, "A @ x")
    near(adrev.sin([1.0, 2.0]), numpy.sin([1.0, 2.0]), "plain arrays")
    check(adrev.fma(2, 3, 4) == 10, "three arguments")


def test_c(model):
    f = adrev.record(model.springs, [1, 2, 4], outputs=2)
    near(f([1, 2, 4]), [0.5 * (1 + 4), math.sin(4)], "springs")
    near(f.jacobian([1, 2, 4]), [[-1, -1, 2], [0, 0, math.cos(4)]], "springs: J")
    scale = ctypes.c_double(3)
    g = adrev.record(model.scaled, [2], 1, ctypes.addressof(scale))
    near(g.gradient([2]), [3.0], "context")
    raises(TypeError, lambda: adrev.record(model.springs, [1, 2, 4]), "no outputs")


def test_files(folder):
    path = os.path.join(folder, "saved.adfn")
    f = adrev.record(rosenbrock, [-1.2, 1.0])
    f.save(path)
    again = adrev.load(path)
    check((again([0.3, 0.4]) == f([0.3, 0.4])).all(), "loaded")
    with open(path, "r+b") as file:
        file.seek(40)
        file.write(b"\x55")
    fails("EFILE", lambda: adrev.load(path), "altered")
    compiler = subprocess.run([os.environ.get("CC", "cc"), "-std=c99", "-c", "-xc",
                               "-", "-o", os.path.join(folder, "code.o")],
                              input=f.c_code().encode(), check=False)
    check(compiler.returncode == 0, "C code")


def test_errors():
    f = adrev.record(lambda x: x[0] if x[0] > 0 else -x[0], [1.0])
    message = fails("EPATH", lambda: f([-1.0]), "another path")
    check("comes out differently" in message, message)
    fails("EPATH", lambda: f(numpy.array([[1.0], [-1.0]])), "map: another path")
    seen = [0.0]

    def frozen(x):
        seen[0] += 1
        return x[0] * seen[0]
    fails("EFROZEN", lambda: adrev.record(frozen, [1.0]), "frozen")
    fails("ESHAPE", lambda: adrev.record(lambda x: [x[0], x[0]], [1.0]).gradient(
        [1.0]), "two results have no gradient")
    raises(KeyError, lambda: adrev.record(lambda x: {}["no"], [1.0], 1), "Python's")
    raises(TypeError, lambda: adrev.record(lambda x: math.sin(x[0]), [1.0], 1),
           "math.sin")
    raises(ValueError, lambda: adrev.record(lambda x: [x[0]], [1.0], 2), "results")
    raises(ValueError, lambda: f([1.0, 2.0]), "two inputs")
    raises(ValueError, lambda: f(numpy.ones((3, 2))), "two columns")
    f.close()
    f.close()
    raises(ValueError, lambda: f([1.0]), "closed")
    with adrev.record(rosenbrock, [1.0, 1.0]) as g:
        near(g([1.0, 1.0]), [0.0], "with")
    raises(ValueError, lambda: g([1.0, 1.0]), "behind with")


def test_threads():
    """Functions are recorded, used, closed and collected on several threads."""
    shared = adrev.record(rosenbrock, [1.0, 1.0])
    wrong = []

    def work(k):
        for i in range(20):
            own = adrev.record(lambda x: x[0] * k + shared_value, [1.0])
            if own.gradient([2.0])[0] != k \
                    or shared([1.0, 2.0])[0] != 100:
                wrong.append(k)
            if i % 2:
                own.close()
    shared_value = 3
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    check(not wrong, f"threads {wrong}")
    nested = adrev.record(lambda x: x[0] * adrev.record(rosenbrock, [1.0, 2.0])(
        [1.0, 2.0])[0], [1.0])
    near(nested.gradient([5.0]), [100.0], "recorded while another is")


def test_plot():
    try:
        import matplotlib
    except ImportError:
        print("adrev_test.py: skipped, matplotlib is not installed: its part")
        return
    matplotlib.use("Agg")
    f = adrev.record(lambda x: adrev.sin(x[0]), [0.0])
    axes = f.plot([0.0], span=2, points=9)
    line = axes[1].lines[0]
    near(line.get_ydata(), numpy.cos(line.get_xdata()), "plot")


def main():
    model = ctypes.CDLL(sys.argv[1])
    check(adrev.version().startswith(adrev.SERIES), "version")
    test_derivatives()
    test_sparse()
    test_operations()
    test_c(model)
    test_choice(sys.argv[2])
    test_files(sys.argv[2])
    test_errors()
    test_threads()
    test_plot()
    print(f"python: {passed} passed, {failed} failed")
    return failed != 0


sys.exit(main())
