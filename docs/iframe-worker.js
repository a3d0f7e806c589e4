// A page that is opened from a folder may start no worker: its search runs in a hidden frame of the page.
if (location.protocol === "file:")
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      inside.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inside.document.createElement("script");
      const loaded = new Promise(resolve => { script.onload = resolve; });
      this.postMessage = data =>
        loaded.then(() => inside.dispatchEvent(new inside.MessageEvent("message", { data })));
      script.src = new URL(url, location.href);
      inside.document.body.append(script);
    }
  };
