#pragma once

#include <functional>
#include <string>
#include <vector>

#include "headlight/views/attention_html.h"

namespace headlight {

// What the attention page's script reads: JSON that may stand inside an element of HTML as it is.
// Checks the documents: throws Error as attention_html() does. `pause` is called behind every
// layer.
std::string attention_page_data(const std::vector<AttentionMaps>& documents,
                                const AttentionPageOptions& options,
                                const std::function<void()>& pause = {});

}  // namespace headlight
