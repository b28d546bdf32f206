#pragma once

#include <string_view>

// The fixed parts of the attention page. The script is one ECMAScript module, cut into parts that
// follow one another in the order below.
namespace headlight {

std::string_view attention_page_style();
// The body between the heading and the embedded data.
std::string_view attention_page_markup();
// Decodes the embedded weights; colours; texts.
std::string_view attention_page_data_script();
// Draws cells, axes and marks of a heat map.
std::string_view attention_page_map_script();
// Colours the running text and lists the strongest links.
std::string_view attention_page_text_script();
// Builds the grid of thumbnails; opens and closes heads; keeps the address.
std::string_view attention_page_grid_script();
// Listens to keyboard, pointer and controls, and starts the page.
std::string_view attention_page_control_script();

}  // namespace headlight
