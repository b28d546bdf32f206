#pragma once

#include <string>

namespace headlight {

// The page of attention_html() without data: it fetches `address` from the server that it came from
// itself, where attention_page_data() must be. `page_files`: see AttentionPageOptions.
std::string fetching_attention_page(const std::string& title, const std::string& address,
                                    const std::string& page_files = {});

}  // namespace headlight
