#pragma once

#include <string>
#include <vector>

#include "headlight/views/attention_html.h"

namespace headlight {

// The element of the attention page that its script reads. Checks the documents: throws Error as
// attention_html() does.
std::string attention_page_data(const std::vector<AttentionMaps>& documents,
                                const AttentionPageOptions& options);

}  // namespace headlight
