#pragma once

#include <string>

namespace headlight {

// Returns the page of attention_html() without data. The page fetches attention_page_data() from
// `address` on its own server. `page_files`: see AttentionPageOptions.
std::string fetching_attention_page(const std::string& title, const std::string& address,
                                    const std::string& page_files = {});

}  // namespace headlight
