// Where the page's data comes from: the element `attention` holds it or, with data-address, names
// what to fetch.
export async function loadData() {
  const holder = document.getElementById('attention');
  const {address} = holder.dataset;
  holder.remove();  // the parsed copy is enough
  if (address === undefined) {
    return JSON.parse(holder.textContent);
  }
  const answer = await fetch(address);
  if (!answer.ok) {
    throw new Error(`${address}: ${answer.status} ${answer.statusText}`);
  }
  return answer.json();
}
