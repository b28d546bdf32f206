#pragma once

#include <nanobind/nanobind.h>

// The parts of the extension; each adds its classes and functions.
namespace headlight::python {

class Model;

void add_tokenizer(nanobind::module_& module);
void add_weights(nanobind::module_& module);
nanobind::class_<Model> add_model(nanobind::module_& module);
void add_generation(nanobind::module_& module, nanobind::class_<Model>& model);
void add_cache(nanobind::module_& module, nanobind::class_<Model>& model);
void add_hooks(nanobind::module_& module, nanobind::class_<Model>& model);
void add_result(nanobind::module_& module);
void add_heads(nanobind::class_<Model>& model);
void add_metrics(nanobind::module_& module);
void add_metric_gradients(nanobind::class_<Model>& model);
void add_questions(nanobind::class_<Model>& model);
void add_weight_analysis(nanobind::class_<Model>& model);
void add_recording(nanobind::class_<Model>& model);
void add_features(nanobind::module_& module, nanobind::class_<Model>& model);
void add_top_examples(nanobind::module_& module, nanobind::class_<Model>& model);
void add_tensor(nanobind::module_& module);
void add_ops(nanobind::module_& module);
void add_custom_op(nanobind::module_& ops);
void add_modules(nanobind::module_& module);
void add_optimizers(nanobind::module_& module);
void add_run(nanobind::module_& module);
void add_training(nanobind::module_& module);
void add_plot(nanobind::module_& module, nanobind::class_<Model>& model);

}  // namespace headlight::python
