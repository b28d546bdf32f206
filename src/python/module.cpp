#include "headlight/kernels/machine/machine.h"
#include "python/bindings.h"
#include "python/errors.h"
#include "python/model/model.h"

NB_MODULE(_headlight, module) {
  using namespace headlight;
  nanobind::set_leak_warnings(false);  // a model in a reference cycle lives until the process ends
  python::register_errors();
  python::add_tokenizer(module);
  python::add_weights(module);
  nanobind::class_<python::Model> model = python::add_model(module);
  python::add_generation(module, model);
  python::add_cache(module, model);
  python::add_hooks(module, model);
  python::add_result(module);
  python::add_heads(model);
  python::add_tensor(module);
  python::add_ops(module);
  python::add_modules(module);
  python::add_optimizers(module);
  python::add_run(module);
  python::add_training(module);
  python::add_plot(module, model);
  python::add_metrics(module);
  python::add_metric_gradients(model);
  python::add_questions(model);
  python::add_weight_analysis(model);
  python::add_recording(model);
  python::add_features(module, model);
  python::add_top_examples(module, model);
  module.attr("version") = HEADLIGHT_VERSION;
  module.def("thread_count", &thread_count, "Returns the number of threads that compute.");
  module.def("set_thread_count", &set_thread_count, nanobind::arg("count"),
             "Sets the number of threads that compute. Results do not depend on it.");
}
