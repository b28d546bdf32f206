#include "python/training/settings.h"

#include "headlight/runs/config_source.h"
#include "python/model/inputs.h"

namespace headlight::python {
namespace {

// Returns the text of a value, as files have it.
std::string setting_text(nb::handle value, const std::string& key) {
  if (nb::isinstance<nb::bool_>(value)) {
    return nb::cast<bool>(value) ? "true" : "false";
  }
  require_value(nb::isinstance<nb::str>(value) || nb::isinstance<nb::int_>(value) ||
                    nb::isinstance<nb::float_>(value) || nb::hasattr(value, "__fspath__"),
                key, "expected a number, text or bool, got ",
                nb::cast<std::string>(nb::repr(value)));
  return nb::cast<std::string>(nb::str(value));
}

}  // namespace

std::vector<std::string> set_settings(TrainConfig& config, const nb::dict& settings) {
  std::vector<std::string> keys;
  for (const auto& [name, value] : settings) {
    const auto key = nb::cast<std::string>(name);
    keys.push_back(canonical_key(key));
    if (nb::isinstance<nb::list>(value)) {
      std::vector<std::string> texts;
      for (const nb::handle item : value) {
        texts.push_back(setting_text(item, key));
      }
      set_config_list(config, key, texts);
    } else {
      set_config_value(config, key, setting_text(value, key));
    }
  }
  return keys;
}

}  // namespace headlight::python
