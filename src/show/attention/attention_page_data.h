#pragma once

#include <functional>
#include <string>
#include <vector>

#include "headlight/show/attention/attention_html.h"

namespace headlight {

// Returns the data of the attention page's script: JSON that needs no escaping inside an HTML
// element. Calls `pause` after every layer. Throws Error as attention_html() does.
std::string attention_page_data(
    const std::vector<AttentionMaps>& documents, const AttentionPageOptions& options,
    const std::function<void()>& pause = [] {});

}  // namespace headlight
