#include "kernels/gemm_products.h"
#include "kernels/threads/parallel.h"
#include "support/cpu_variants.h"
#include "support/test.h"

// Both engines on every instruction set, with sizes around every edge of the register tiles and the
// blocking: strips of 6 or 14 rows, panels of 4 to 32 columns, depth 384, 768 columns, groups of 8
// strips of a transposed matrix.

using kernels::Gemm;
using kernels::GemmRegion;

struct Size {
  Index m;
  Index n;
  Index k;
};

constexpr Size kSizes[] = {{1, 1, 1},     {2, 5, 6},     {5, 7, 13},     {6, 31, 2},
                           {7, 33, 65},   {13, 32, 14},  {14, 64, 100},  {15, 65, 769},
                           {31, 1, 800},  {33, 14, 7},   {65, 15, 31},   {1, 800, 385},
                           {769, 13, 7},  {100, 6, 385}, {800, 2, 33},   {32, 769, 15},
                           {6, 800, 769}, {113, 33, 65}, {230, 31, 385}, {127, 100, 48}};

// Options of the products; the sizes take them in turn.
constexpr Product kTasks[] = {{},
                              {.bias = true},
                              {.alpha = -0.5, .beta = 1, .gap = 3},
                              {.alpha = 2, .beta = -0.25},
                              {.alpha = 1.5, .bias = true, .gap = 17}};

Product product_of_size(const Size& size, Product task, int flips) {
  task.m = size.m;
  task.n = size.n;
  task.k = size.k;
  task.transpose_a = (flips & 1) != 0;
  task.transpose_b = (flips & 2) != 0;
  return task;
}

std::string description(const Product& p) {
  return concat_text("m ", p.m, ", n ", p.n, ", k ", p.k, ", transposed ", p.transpose_a,
                     p.transpose_b, ", alpha ", p.alpha, ", beta ", p.beta, ", bias ", p.bias,
                     ", gap ", p.gap);
}

// Checks C, including its gaps, after gemm() on all threads and on one.
template <class T>
void check_on_all(const Product& p, double tolerance) {
  INFO(description(p) << ", " << 8 * sizeof(T) << " bits");
  const Operands<T> operands(p);
  const std::vector<double> expected = naive(p, operands);
  with_each_variant([&] {
    with_each_engine([&] {
      Operands<T> on_all_threads = operands;
      Operands<T> on_one = operands;
      kernels::gemm(gemm_of(p, on_all_threads));
      {
        const kernels::SingleThreadScope one_thread;
        kernels::gemm(gemm_of(p, on_one));
      }
      const std::vector<T>& c = on_all_threads.c;
      CHECK(largest_difference({c.begin(), c.end()}, expected) < tolerance);
      CHECK(largest_difference({on_one.c.begin(), on_one.c.end()}, expected) < tolerance);
    });
  });
}

void check_types_on_all(const Product& p) {
  check_on_all<float>(p, 1e-4);
  check_on_all<double>(p, 1e-12);
}

template <class T>
std::vector<T> computed(const Gemm<T>& product, const std::vector<T>& c) {
  kernels::gemm(product);
  return c;
}

TEST_CASE("both engines agree with three nested loops at every edge of their blocking", "[long]") {
  std::size_t task = 0;
  for (const Size& size : kSizes) {
    for (const int flips : {0, 1, 2, 3}) {
      check_types_on_all(product_of_size(size, kTasks[task++ % std::size(kTasks)], flips));
    }
    ++task;
  }
}

TEST_CASE("gemm without inner elements leaves the bias, beta times C, or zero") {
  for (const Product& task : kTasks) {
    check_types_on_all(product_of_size({3, 4, 0}, task, 0));
  }
}

TEST_CASE("narrow panels and short strips keep C, scale and bias over several blocks of depth") {
  for (const Product& task : kTasks) {
    for (const int flips : {0, 3}) {
      check_types_on_all(product_of_size({7, 5, 800}, task, flips));
      check_types_on_all(product_of_size({15, 33, 385}, task, flips));
    }
  }
}

TEST_CASE("rows at distances of multiples of 1024 elements are multiplied correctly", "[long]") {
  for (const int flips : {0, 1, 2, 3}) {
    check_types_on_all(product_of_size({100, 100, 100}, {.gap = 924}, flips));
    check_types_on_all(product_of_size({15, 15, 15}, {.alpha = 2, .beta = 1, .gap = 1009}, flips));
    check_types_on_all(product_of_size({400, 33, 400}, {.gap = 624}, flips));
  }
}

TEST_CASE("gemm calls `after` once for every final element") {
  const auto check = [](const Size& size, const Product& task, int flips) {
    const Product p = product_of_size(size, task, flips);
    INFO(description(p));
    with_each_variant([&] {
      with_each_engine([&] {
        for (const int threads : {1, 3}) {
          const ThreadScope scope(threads);
          Operands<float> operands(p);
          Gemm<float> product = gemm_of(p, operands);
          const Witness<float> witness(product);
          kernels::gemm(product);
          CHECK(witness.saw_each_once());
          CHECK(witness.saw_final_values());
        }
      });
    });
  };
  check({1, 1, 1}, {}, 0);
  check({33, 65, 800}, {.bias = true}, 2);
  check({230, 100, 385}, {.alpha = 2, .beta = 1, .gap = 3}, 1);
  check({15, 1600, 400}, {}, 3);
  check({7, 9, 0}, {.bias = true}, 0);
}

TEST_CASE("both engines give the same bits with 1, 2, 3 and 8 threads", "[long]") {
  with_each_variant([] {
    with_each_engine([] {
      std::size_t task = 0;
      for (const Size& size : {Size{230, 100, 385}, Size{6, 1600, 400}, Size{800, 33, 65}}) {
        for (const int flips : {0, 1, 2, 3}) {
          const Product p = product_of_size(size, kTasks[task++ % std::size(kTasks)], flips);
          INFO(description(p));
          const auto with_threads = [&](int threads) {
            const ThreadScope scope(threads);
            Operands<float> operands(p);
            return computed(gemm_of(p, operands), operands.c);
          };
          const std::vector<float> expected = with_threads(1);
          for (const int threads : {2, 3, 8}) {
            CHECK(with_threads(threads) == expected);
          }
        }
      }
    });
  });
}

TEST_CASE("an element has the same bits in any part of the product that holds it") {
  constexpr GemmRegion kPart{.row = 5, .rows = 15, .column = 3, .columns = 19};
  const ProductsScope own(kernels::Products::own);
  with_each_variant([&] {
    for (const Product& task : kTasks) {
      for (const int flips : {0, 1, 2, 3}) {
        const Product p = product_of_size({40, 70, 500}, task, flips);
        INFO(description(p));
        Operands<double> whole(p);
        Operands<double> cut(p);
        Gemm<double> product = gemm_of(p, cut);
        const Index first = kPart.row * product.c_stride + kPart.column;
        product.m = kPart.rows;
        product.n = kPart.columns;
        product.a += p.transpose_a ? kPart.row : kPart.row * product.a_stride;
        product.b += p.transpose_b ? kPart.column * product.b_stride : kPart.column;
        product.c += first;
        product.bias += p.bias ? kPart.column : 0;
        kernels::gemm(product);
        const Gemm<double> all = gemm_of(p, whole);
        kernels::gemm(all);
        bool same = true;
        for (Index row = 0; row < kPart.rows; ++row) {
          for (Index column = 0; column < kPart.columns; ++column) {
            const Index place = first + row * all.c_stride + column;
            same = same && all.c[place] == product.c[place - first];
          }
        }
        CHECK(same);
      }
    }
  });
}
