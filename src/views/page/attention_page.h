#pragma once

#include <string_view>

// The script of the attention page: one ECMAScript module, cut into parts that follow one another
// in the order below.
namespace headlight {

// Decodes the embedded weights; colours; what the reader has chosen.
std::string_view attention_page_data_script();
// Draws the cells of heat maps and measures their axes.
std::string_view attention_page_map_script();
// Writes axes, values and marks of a heat map.
std::string_view attention_page_axes_script();
// Colours the running text, lists the strongest links, fills tables.
std::string_view attention_page_text_script();
// The model view: thumbnails, and one head beside the text.
std::string_view attention_page_model_script();
// The head view: lines between tokens.
std::string_view attention_page_lines_script();
// The neuron view: queries, keys and their products.
std::string_view attention_page_neuron_script();
// The grid of panels, pickers, tabs and the address.
std::string_view attention_page_grid_script();
// Listens to keyboard, pointer and controls, and starts the page.
std::string_view attention_page_control_script();

}  // namespace headlight
