// SPDX-License-Identifier: MIT-0
/* tensor_torch.cpp - programs of tensor.c by PyTorch's library, on one thread,
 * as its users write them: no loops, gradients by its tape. */

#include "tensor.h"

#include <torch/torch.h>

#include <vector>

namespace {

using torch::Tensor;
using torch::indexing::Slice;

const auto numbers = torch::TensorOptions().dtype(torch::kFloat64);

int64_t of(size_t n)
{
    return static_cast<int64_t>(n);
}

Tensor in(const double *x, std::vector<int64_t> shape)
{
    return torch::from_blob(const_cast<double *>(x), shape, numbers);
}

void out(const Tensor &from, double *to)
{
    in(to, from.sizes().vec()).copy_(from);
}

// The entries of a column; they are of 32 bits with us, and kept.
Tensor column(const tensor_data *d, int k)
{
    static const int *from[TENSOR_COLUMNS];
    static Tensor kept[TENSOR_COLUMNS];

    if (from[k] != d->column[k] || kept[k].numel() != of(d->entries)) {
        from[k] = d->column[k];
        kept[k] = torch::from_blob(const_cast<int *>(d->column[k]),
                                   { of(d->entries) }, torch::kInt32)
                      .to(torch::kInt64);
    }
    return kept[k];
}

/* ---------------------------------------------------------------------------
 * Programs
 * ------------------------------------------------------------------------- */

std::vector<Tensor> squares_inputs(const tensor_data *d)
{
    const int64_t m = of(d->size[0]);
    const int64_t n = of(d->size[1]);

    return { in(d->x[0], { m, n }), in(d->x[1], { n }), in(d->x[2], { m }) };
}

Tensor squares(const tensor_data *, const std::vector<Tensor> &x)
{
    return 0.5 * (torch::mv(x[0], x[1]) - x[2]).square().sum();
}

std::vector<Tensor> conv_inputs(const tensor_data *d)
{
    return { in(d->x[0], { 1, 1, of(d->size[0]), of(d->size[1]) }),
             in(d->x[1], { 1, 1, of(d->size[2]), of(d->size[3]) }) };
}

Tensor conv(const tensor_data *, const std::vector<Tensor> &x)
{
    return torch::conv2d(x[0], x[1], {}, 1, 1);
}

std::vector<Tensor> burgers_inputs(const tensor_data *d)
{
    const int64_t n = of(d->size[0]);

    return { in(d->x[0], { n, n }) };
}

Tensor burgers(const tensor_data *d, const std::vector<Tensor> &x)
{
    const Slice inner(1, -1), before(torch::indexing::None, -2),
        after(2, torch::indexing::None);
    const Tensor u = x[0].index({ inner, inner });
    const Tensor above = x[0].index({ before, inner });
    const Tensor step = *d->x[2] * (above + x[0].index({ after, inner })
                                    + x[0].index({ inner, before })
                                    + x[0].index({ inner, after }) - 4 * u)
                      - *d->x[1] * u * (u - above);
    const Tensor change = torch::constant_pad_nd(step, { 1, 1, 1, 1 });

    return (x[0] + change).square().sum();
}

std::vector<Tensor> spmv_inputs(const tensor_data *d)
{
    return { in(d->x[0], { of(d->entries) }),
             in(d->x[1], { of(d->size[1]) }) };
}

Tensor spmv(const tensor_data *d, const std::vector<Tensor> &x)
{
    const Tensor products = x[0] * x[1].index_select(0, column(d, 1));

    return torch::zeros({ of(d->size[0]) }, numbers)
        .index_add(0, column(d, 0), products);
}

std::vector<Tensor> matmul_inputs(const tensor_data *d)
{
    return { in(d->x[0], { of(d->size[0]), of(d->size[1]) }),
             in(d->x[1], { of(d->size[1]), of(d->size[2]) }) };
}

Tensor matmul(const tensor_data *, const std::vector<Tensor> &x)
{
    return torch::mm(x[0], x[1]);
}

std::vector<Tensor> attention_inputs(const tensor_data *d)
{
    const int64_t m = of(d->size[1]);
    const int64_t k = of(d->size[2]);

    return { in(d->x[0], { of(d->size[0]), k }), in(d->x[1], { m, k }),
             in(d->x[2], { m, k }) };
}

Tensor attention(const tensor_data *d, const std::vector<Tensor> &x)
{
    return torch::mm(
        torch::softmax(*d->x[3] * torch::mm(x[0], x[1].t()), 1), x[2]);
}

std::vector<Tensor> cp_inputs(const tensor_data *d)
{
    std::vector<Tensor> x = { in(d->x[0], { of(d->entries) }) };

    for (int k = 0; k < TENSOR_COLUMNS; k++) {
        x.push_back(in(d->x[k + 1], { of(d->size[k]), of(d->size[3]) }));
    }
    return x;
}

Tensor cp(const tensor_data *d, const std::vector<Tensor> &x)
{
    const Tensor rows = x[1].index_select(0, column(d, 0))
                      * x[2].index_select(0, column(d, 1))
                      * x[3].index_select(0, column(d, 2));

    return (x[0] - rows.sum(1)).square().sum();
}

/* ---------------------------------------------------------------------------
 * Values and gradients
 * ------------------------------------------------------------------------- */

typedef std::vector<Tensor> inputs_of(const tensor_data *d);
typedef Tensor result_of(const tensor_data *d, const std::vector<Tensor> &x);

template <inputs_of *inputs, result_of *result>
void value(const tensor_data *d, double *y)
{
    const torch::NoGradGuard no_tape;

    out(result(d, inputs(d)), y);
}

template <inputs_of *inputs, result_of *result>
void gradient(const tensor_data *d, double *y, double *const g[])
{
    std::vector<Tensor> x = inputs(d);

    for (size_t i = 0; i < x.size(); i++) {
        x[i].set_requires_grad(g[i] != nullptr);
    }
    const Tensor f = result(d, x);
    f.backward(in(d->w, f.sizes().vec()));
    if (y) {
        out(f.detach(), y);
    }
    for (size_t i = 0; i < x.size(); i++) {
        if (g[i]) {
            out(x[i].grad(), g[i]);
        }
    }
}

tensor_tool tool()
{
    tensor_tool t = {};

    at::set_num_threads(1);
    t.name = "torch";
#define RUN(name, id)                                                         \
    t.run[id] = { value<name##_inputs, name>, gradient<name##_inputs, name> }
    RUN(squares, TENSOR_SQUARES);
    RUN(conv, TENSOR_CONV);
    RUN(conv, TENSOR_CORE);
    RUN(burgers, TENSOR_BURGERS);
    RUN(spmv, TENSOR_SPMV);
    RUN(matmul, TENSOR_MATMUL);
    RUN(attention, TENSOR_ATTENTION);
    RUN(cp, TENSOR_CP);
#undef RUN
    return t;
}

}  // namespace

const tensor_tool tensor_torch = tool();
