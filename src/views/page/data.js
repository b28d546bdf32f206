// Loads the page's data: from the address in data-address of the element `attention`, or else from
// the text of that element.
export async function loadData() {
  const holder = document.getElementById('attention');
  const {address} = holder.dataset;
  holder.remove();  // only the parsed copy is needed
  if (address === undefined) {
    return JSON.parse(holder.textContent);
  }
  const answer = await fetch(address);
  if (!answer.ok) {
    throw new Error(`${address}: ${answer.status} ${answer.statusText}`);
  }
  return answer.json();
}
