#include <algorithm>
#include <atomic>
#include <tuple>
#include <unordered_map>
#include <unordered_set>

#include "autograd/leaf_function.h"
#include "headlight/autograd/autograd.h"
#include "kernels/loops.h"
#include "kernels/phase_times.h"
#include "kernels/threads/parallel.h"

namespace headlight {

namespace {

// Order of nodes and number of live nodes; neither influences results.
std::atomic<std::uint64_t> next_sequence{0};
std::atomic<Index> live_nodes{0};

// Returns into + addition; reuses the elements of `into` if no other tensor shares them.
Tensor add_gradients(Tensor into, const Tensor& addition) {
  const bool in_place = into.owns_storage_alone() && into.is_contiguous();
  Tensor sum = in_place ? into : Tensor::empty(into.shape(), into.dtype());
  const Tensor a = to_contiguous(into);
  const Tensor b = to_contiguous(addition);
  dispatch_floating(sum.dtype(), "backward", [&](auto zero) {
    using T = decltype(zero);
    const T* from_a = a.data<T>();
    const T* from_b = b.data<T>();
    T* to = sum.data<T>();
    kernels::parallel_for(sum.numel(), kernels::kElementGrain, [&](Index begin, Index end) {
      kernels::loops<T>().add(from_a + begin, from_b + begin, to + begin, end - begin);
    });
  });
  return sum;
}

}  // namespace

// Graph node of one tensor: the op that computed the tensor, the inputs of the op and its gradient
// function. The node of a leaf holds only the gradient of the leaf.
struct GradNode {
  GradNode(const char* name, const Shape& output_shape, DType output_dtype)
      : op(name), sequence(next_sequence++), shape(output_shape), dtype(output_dtype) {
    if (!is_leaf()) {
      ++live_nodes;
    }
  }

  // Releases long chains without recursion.
  ~GradNode() {
    if (!is_leaf()) {
      --live_nodes;
    }
    // Inputs that only this node keeps alive would be destroyed recursively inside this destructor.
    // Moving their inputs here first avoids the recursion.
    std::vector<SavedTensor> doomed = std::move(inputs);
    while (!doomed.empty()) {
      const SavedTensor tensor = std::move(doomed.back());
      doomed.pop_back();
      const std::shared_ptr<GradNode>& node = tensor.grad_node();
      if (node != nullptr && node.use_count() == 1) {
        for (SavedTensor& input : node->inputs) {
          doomed.push_back(std::move(input));
        }
        node->inputs.clear();
      }
    }
  }

  GradNode(const GradNode&) = delete;
  GradNode& operator=(const GradNode&) = delete;

  bool is_leaf() const { return op == nullptr; }
  // Adds a gradient to `grad`.
  void accumulate(Tensor arriving) {
    if (grad.defined()) {
      grad = add_gradients(std::move(grad), arriving);
      return;
    }
    // A shared gradient would change with the other tensors.
    const bool own = arriving.owns_storage_alone() && arriving.is_contiguous();
    grad = own ? std::move(arriving) : arriving.clone();
  }

  const char* op;          // nullptr for a leaf
  std::uint64_t sequence;  // creation order: larger than that of all inputs
  Shape shape;
  DType dtype;
  std::vector<SavedTensor> inputs;
  GradientFunction gradient;
  AddGradientFunction add_gradient;  // instead of `gradient`
  Tensor grad;                       // for leaves and nodes with retains_grad
  bool retains_grad = false;
  bool is_frozen = false;  // a leaf that gets no gradients for now
  bool was_freed = false;  // by an earlier backward pass
};

Index live_graph_nodes() { return live_nodes; }

namespace {

thread_local bool recording_enabled = true;

using Nodes = std::vector<std::shared_ptr<GradNode>>;

// Sorts newest first: creation order is a topological order. A leaf comes right after the oldest
// node that uses it, when its gradient is complete.
void sort_for_backward(Nodes& nodes) {
  std::unordered_map<const GradNode*, std::uint64_t> oldest_user;  // per leaf
  for (const auto& node : nodes) {
    for (const SavedTensor& input : node->inputs) {
      if (input.grad_node() != nullptr && input.grad_node()->is_leaf()) {
        auto& user = oldest_user.try_emplace(input.grad_node().get(), node->sequence).first->second;
        user = std::min(user, node->sequence);
      }
    }
  }
  const auto turn = [&](const GradNode& node) {
    const auto found = oldest_user.find(&node);
    const bool waits = found != oldest_user.end();
    return std::tuple(waits ? found->second : node.sequence, !waits, node.sequence);
  };
  std::sort(nodes.begin(), nodes.end(),
            [&](const auto& a, const auto& b) { return turn(*a) > turn(*b); });
}

// Returns the nodes that `root` depends on, in the order of backward.
Nodes reachable_nodes(const std::shared_ptr<GradNode>& root) {
  Nodes nodes{root};
  std::unordered_set<const GradNode*> seen{root.get()};
  for (std::size_t next = 0; next < nodes.size(); ++next) {
    const std::shared_ptr<GradNode> node = nodes[next];
    for (const SavedTensor& input : node->inputs) {
      if (input.grad_node() != nullptr && seen.insert(input.grad_node().get()).second) {
        nodes.push_back(input.grad_node());
      }
    }
  }
  sort_for_backward(nodes);
  return nodes;
}

void check_arrival(const GradNode& from, const GradNode& to, const Tensor& gradient) {
  require(gradient.shape() == to.shape && gradient.dtype() == to.dtype, "[backward] ", from.op,
          " gave a gradient of shape ", gradient.shape(), " and type ", gradient.dtype(),
          " for an input of shape ", to.shape, " and type ", to.dtype);
}

// As Tensor::zeros, on all threads: gradients of embeddings are large.
Tensor zeros_on_all_threads(const Shape& shape, DType dtype) {
  Tensor zeros = Tensor::empty(shape, dtype);
  dispatch_floating(dtype, "backward", [&](auto zero) {
    auto* to = zeros.data<decltype(zero)>();
    kernels::parallel_for(zeros.numel(), kernels::kElementGrain,
                          [&](Index begin, Index end) { std::fill(to + begin, to + end, zero); });
  });
  return zeros;
}

using Pending = std::unordered_map<const GradNode*, Tensor>;

void add_to_inputs(const GradNode& node, const Tensor& output_grad, Pending& pending) {
  node.add_gradient(node.inputs, output_grad, [&](std::size_t i) -> Tensor& {
    const SavedTensor& input = node.inputs[i];
    Tensor& sum = pending[input.grad_node().get()];
    if (!sum.defined()) {
      sum = zeros_on_all_threads(input.shape(), input.dtype());
    } else if (!sum.owns_storage_alone() || !sum.is_contiguous()) {
      sum = sum.clone();
    }
    return sum;
  });
  kernels::end_phase(node.op, true);
}

void send_to_inputs(const GradNode& node, const Tensor& output_grad, Pending& pending) {
  std::vector<Tensor> gradients = node.gradient(node.inputs, output_grad);
  kernels::end_phase(node.op, true);
  require(gradients.size() == node.inputs.size(), "[backward] ", node.op, " gave ",
          gradients.size(), " gradients for ", node.inputs.size(), " inputs");
  for (std::size_t i = 0; i < gradients.size(); ++i) {
    const std::shared_ptr<GradNode>& input = node.inputs[i].grad_node();
    if (input == nullptr || !gradients[i].defined()) {
      continue;
    }
    check_arrival(node, *input, gradients[i]);
    Tensor& slot = pending[input.get()];
    Tensor arriving = std::move(gradients[i]);
    slot = slot.defined() ? add_gradients(std::move(slot), arriving) : std::move(arriving);
  }
  kernels::end_phase("gradient sums", true);
}

void visit(GradNode& node, Pending& pending, const BackwardOptions& options) {
  const auto found = pending.find(&node);
  if (found == pending.end()) {
    return;
  }
  Tensor gradient = std::move(found->second);
  pending.erase(found);
  if (node.is_leaf()) {
    node.accumulate(std::move(gradient));
    if (options.on_leaf) {
      options.on_leaf(node);
    }
    return;
  }
  if (node.retains_grad) {
    node.accumulate(gradient);
  }
  require(!node.was_freed, "[backward] the graph was freed by an earlier backward pass; ask that ",
          "one to retain_graph");
  if (node.add_gradient) {
    add_to_inputs(node, gradient, pending);
  } else {
    send_to_inputs(node, gradient, pending);
  }
  if (!options.retain_graph) {
    node.was_freed = true;
    node.inputs.clear();
    node.gradient = nullptr;
    node.add_gradient = nullptr;
  }
}

Tensor root_gradient(const Tensor& root, const Tensor& given) {
  if (!given.defined()) {
    require(root.numel() == 1, "[backward] expected a root with one element or a gradient for it, ",
            "got shape ", root.shape());
    return Tensor::ones(root.shape(), root.dtype());
  }
  require(given.shape() == root.shape() && given.dtype() == root.dtype(),
          "[backward] expected a gradient of shape ", root.shape(), " and type ", root.dtype(),
          ", got ", given.shape(), " and ", given.dtype());
  return given;
}

// What a node keeps of its inputs.
enum class Kept { elements, shapes };

Tensor shape_of(const Tensor& x) {
  return x.defined() ? Tensor::without_elements(x.shape(), x.dtype()) : x;
}

// Attaches a new node to `value` and returns the node. Without inputs that require a gradient,
// attaches none and returns null.
std::shared_ptr<GradNode> attach_node(const char* op, Tensor& value, std::vector<Tensor> inputs,
                                      Kept kept = Kept::elements) {
  if (recording_enabled) {  // not inside of a gradient function
    kernels::end_phase(op);
  }
  std::shared_ptr<GradNode> node;
  if (wants_gradient(inputs)) {
    node = std::make_shared<GradNode>(op, value.shape(), value.dtype());
    node->inputs.reserve(inputs.size());
    for (const Tensor& input : inputs) {
      Tensor saved = kept == Kept::shapes ? shape_of(input) : input.detach();
      saved.set_grad_node(input.requires_grad() ? input.grad_node() : nullptr);
      const auto index = static_cast<Index>(node->inputs.size());
      node->inputs.emplace_back(op, "input", std::move(saved), index);
    }
  }
  value.set_grad_node(node);
  return node;
}

}  // namespace

void backward(const Tensor& root, const BackwardOptions& options) {
  require(root.requires_grad(), "[backward] no input of this tensor requires a gradient");
  const NoGrad no_grad;
  const LeafFunctionScope scope(options.on_leaf);
  Pending pending;
  pending[root.grad_node().get()] = root_gradient(root, options.gradient);
  Nodes nodes = reachable_nodes(root.grad_node());
  for (std::shared_ptr<GradNode>& node : nodes) {
    visit(*node, pending, options);
    node = nullptr;  // frees its activations now, not at the end
  }
}

bool wants_gradient(std::span<const Tensor> inputs) {
  return recording_enabled && std::any_of(inputs.begin(), inputs.end(),
                                          [](const Tensor& x) { return x.requires_grad(); });
}

bool wants_gradient(std::initializer_list<Tensor> inputs) {
  return wants_gradient(std::span<const Tensor>(inputs.begin(), inputs.size()));
}

Tensor record(const char* op, Tensor value, std::vector<Tensor> inputs, GradientFunction gradient) {
  if (const auto node = attach_node(op, value, std::move(inputs))) {
    node->gradient = std::move(gradient);
  }
  return value;
}

Tensor record_shapes(const char* op, Tensor value, std::vector<Tensor> inputs,
                     GradientFunction gradient) {
  if (const auto node = attach_node(op, value, std::move(inputs), Kept::shapes)) {
    node->gradient = std::move(gradient);
  }
  return value;
}

Tensor record_adding(const char* op, Tensor value, std::vector<Tensor> inputs,
                     AddGradientFunction gradient) {
  if (const auto node = attach_node(op, value, std::move(inputs))) {
    node->add_gradient = std::move(gradient);
  }
  return value;
}

NoGrad::NoGrad(bool disables) : previous_(recording_enabled) { recording_enabled = !disables; }

NoGrad::~NoGrad() { recording_enabled = previous_; }

std::string_view Tensor::grad_op() const {
  return node_ == nullptr || node_->is_leaf() ? std::string_view() : node_->op;
}

bool Tensor::requires_grad() const { return node_ != nullptr && !node_->is_frozen; }

Tensor& Tensor::set_requires_grad(bool value) {
  require(!value || is_floating(dtype_), "[set_requires_grad] expected a floating type, got ",
          dtype_);
  if (node_ != nullptr && node_->is_leaf()) {
    node_->is_frozen = !value;
  } else {
    node_ = value ? std::make_shared<GradNode>(nullptr, shape_, dtype_) : nullptr;
  }
  return *this;
}

Tensor Tensor::grad() const { return node_ == nullptr ? Tensor() : node_->grad; }

void Tensor::zero_grad() {
  if (node_ != nullptr) {
    node_->grad = Tensor();
  }
}

void Tensor::set_grad(Tensor gradient) {
  require(node_ != nullptr && node_->is_leaf(), "[set_grad] expected a leaf");
  require(gradient.shape() == shape_ && gradient.dtype() == dtype_,
          "[set_grad] expected a gradient of shape ", shape_, " and type ", dtype_, ", got ",
          gradient.shape(), " and ", gradient.dtype());
  node_->grad = std::move(gradient);
}

void Tensor::retain_grad() {
  require(node_ != nullptr, "[retain_grad] the tensor requires no gradient");
  node_->retains_grad = true;
}

Tensor Tensor::detach() const {
  Tensor result = *this;
  result.node_ = nullptr;
  return result;
}

}  // namespace headlight
