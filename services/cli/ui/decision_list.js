// What was decided about a job, the newest first, as it falls.

const DECISIONS_SHOWN_MAX = 300;
const PAGE_AT_FIRST = 1000;
const PAGE_LATER = 100;

class DecisionList {
  constructor(section) {
    this.section = section;
    this.list = section.querySelector('.log');
    this.forget();
  }

  forget() {
    this.token = '';  // Of the last page.
    this.seen = 0;    // The sequence number of the last one.
    this.pageSize = PAGE_AT_FIRST;
    this.list.replaceChildren();
    this.section.querySelector('.note').textContent = '';
    this.section.hidden = true;
  }

  // Gets those that are new of the job of that name. The last page is asked for
  // again and again, until there is one after it.
  async look(parent, going) {
    for (;;) {
      const page = await call(
          'ListDecisions', {parent, pageSize: this.pageSize, pageToken: this.token});
      if (!going()) return;
      for (const decision of page.decisions ?? []) this.add(decision);
      if (!page.nextPageToken) break;
      this.token = page.nextPageToken;
    }
    this.pageSize = PAGE_LATER;
  }

  add(decision) {
    const sequence = integer(decision.sequence);
    if (sequence <= this.seen) return;
    this.seen = sequence;
    const seconds = decision.seconds ?? 0;
    const omitted = integer(decision.omitted);
    const about = decision.worker === 'job' ? '' : `${decision.worker}: `;
    const more = omitted > 0 ? ` (and ${formatNumber(omitted)} like it)` : '';
    const kind = decision.kind ?? '';
    this.list.prepend(element(
        'li', {},
        element('time', {title: decision.time ?? ''},
                `${formatNumber(Math.round(10 * seconds) / 10)} s`),
        element('span', {className: `kind kind-${kind}`}, kind),
        element('span', {className: 'text'},
                `${about}${decision.text ?? ''}${more}`)));
    while (this.list.children.length > DECISIONS_SHOWN_MAX) {
      this.list.lastChild.remove();
      this.section.querySelector('.note').textContent =
          `The last ${DECISIONS_SHOWN_MAX}; \u201cpaceline job logs\u201d has all.`;
    }
    this.section.hidden = false;
  }
}
