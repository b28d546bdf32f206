// URL fragments that record the selection, for links: "#model/2.3/17/receives&doc=1".

// `chosen`: the reader chose `token`. `opening`: the selection of a page without a fragment.
export function formatAddress({tab, open, head, token, chosen, direction, doc, beside}, opening) {
  let address = `#${tab}`;
  if (tab !== 'model' || open) {
    address += `/${head}`;
    const turned = direction === 'receives' && ['model', 'head'].includes(tab);
    if (chosen || turned) {
      address += `/${token}`;
    }
    address += turned ? '/receives' : '';
  }
  address += doc > 0 ? `&doc=${doc}` : '';
  address += beside !== opening.beside ? `&beside=${beside}` : '';
  return address;
}

// Returns the selection of a fragment: {tab, head, token, direction, doc, beside}; head and token
// may be null. `count`: number of documents.
export function parseAddress(hash, count, opening) {
  const form = /^#(model|head|neuron|grid)?\/?(\d+\.\d+)?(?:\/(\d+))?(\/receives)?(&.*)?$/;
  const [, tab, head, token, receives, choices] = form.exec(hash) ?? [];
  const choice = (name, least, otherwise) => {
    const value = Number(new URLSearchParams(choices ?? '').get(name) ?? otherwise);
    return Number.isInteger(value) && value >= least && value < count ? value : otherwise;
  };
  return {
    tab: tab ?? (head ? 'model' : opening.tab),
    head: head ?? null,
    token: token === undefined ? null : Number(token),
    direction: receives ? 'receives' : 'gives',
    doc: choice('doc', 0, 0),
    beside: choice('beside', -1, opening.beside),
  };
}
