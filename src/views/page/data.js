// Where the page's data comes from: the element `attention` holds it.
export async function loadData() {
  const holder = document.getElementById('attention');
  holder.remove();  // the parsed copy is enough
  return JSON.parse(holder.textContent);
}
