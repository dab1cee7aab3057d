;;; jumpseat-format.el --- The formats of jumpseat chats  -*- lexical-binding: t; -*-

;; Copyright (C) 2026 The jumpseat authors

;; SPDX-License-Identifier: MIT

;;; Commentary:

;; A chat is a text in Markdown or in Org, which the daemon reads and writes.
;; This file describes what the package itself must find in a text of either
;; format.

;;; Code:

(require 'cl-lib)
(require 'jumpseat-core)

(defcustom jumpseat-chat-format 'markdown
  "The format of new chats.
A chat in Org is in Org mode; its file has the extension .org."
  :type '(choice (const :tag "Markdown" markdown) (const :tag "Org" org))
  :group 'jumpseat)

(cl-defstruct (jumpseat--format (:constructor jumpseat-format--make) (:copier nil))
  name                       ; as in the daemon's protocol
  suffix                     ; the end of file names
  sign                       ; the text before the name of a role in a heading
  (level-sign "")            ; precedes `sign' once for each level below the first
  after-role                 ; matches what may follow the name of a role
  thinking                   ; the first and the last line of thinking
  thinking-end
  ;; Matches the first line of a block that is folded.  Group 1 is the text that
  ;; `block-end' needs, group 2 the type, and group 3 the pairs of keys and
  ;; values.  If a model writes such a line, the line is escaped.
  block
  block-end                  ; matches the last line; a `format' string for group 1 of `block'
  pair                       ; matches a pair, with the value in group 1; a `format' string for the key
  escaped                    ; matches if code may contain escaped lines
  front                      ; the first and the last line of the front matter
  front-end
  aside                      ; matches a line that may precede the front matter, or nil
  property                   ; the text before a key in the front matter
  value)                     ; like `pair', for a key in the front matter

(defconst jumpseat-format--types "tool_use\\|tool_result\\|image\\|document\\|context"
  "Matches the types of blocks that are folded.")

(defconst jumpseat-format--quoted "\"\\(?:[^\"\\]\\|\\\\.\\)*\""
  "Matches a value of a pair that is a JSON string.")

(defconst jumpseat--format-keys '("model" "system" "tools" "settings" "conversation")
  "The keys of front matter that are not settings.")

(defconst jumpseat--format-markdown
  (jumpseat-format--make
   :name "markdown" :suffix ".md"
   :sign "## " :after-role "[ \t]*$"
   :thinking "<details><summary>Thinking</summary>" :thinking-end "</details>"
   :block (concat "^\\(```+\\)\\(" jumpseat-format--types "\\)\\(?: \\(.*\\)\\)?\n")
   :block-end "^%s[ \t]*$"
   :pair (concat "\\(?:^\\| \\)%s=\\(" jumpseat-format--quoted "\\|[^ ]+\\)")
   :escaped "^\\\\\\|\\\\:"
   :front "---" :front-end "---" :property ""
   :value "^[ \t]*%s:[ \t]*[\"']?\\(.*?\\)[\"']?[ \t]*$")
  "Markdown.")

(defconst jumpseat--format-org
  (jumpseat-format--make
   :name "org" :suffix ".org"
   :sign "* " :level-sign "*" :after-role "\\(?:[ \t]+:[[:alnum:]_@#%:]+:\\)?[ \t]*$"
   :thinking "#+begin_thinking" :thinking-end "#+end_thinking"
   :block (concat "^#\\+begin_\\(?1:\\(?2:" jumpseat-format--types "\\)\\)\\(?: \\(?3:.*\\)\\)?\n")
   :block-end "^#\\+end_%s[ \t]*$"
   :pair (concat "\\(?:^\\| \\):%s +\\(" jumpseat-format--quoted "\\|[^ ]+\\)")
   :escaped "^[ \t]*,\\|\\\\:"
   :front ":PROPERTIES:" :front-end ":END:"
   :aside "[ \t]*\\(?:#\\(?:\\(?:\\+[^ \t\n:]+:\\|[ \t]\\).*\\)?\\)?$" :property ":"
   :value (concat "^[ \t]*:%1$s:[ \t]*[\"']?\\(?1:.*?\\)[\"']?[ \t]*$"
                  "\\|^[ \t]*:settings:.*[{,][ \t]*%1$s:[ \t]*[\"']?\\(?1:[^]},\"'\n]*\\)"))
  "Org.")

(defun jumpseat--format-sign-at (format level)
  "Return the text before the name of a role in a heading of FORMAT on LEVEL.
LEVEL is a number, or nil for 1."
  (concat (apply #'concat (make-list (1- (or level 1)) (jumpseat--format-level-sign format)))
          (jumpseat--format-sign format)))

(defun jumpseat--format-sign-regexp (format)
  "Return a regexp for the text before the name of a role, on any level of FORMAT."
  (let ((level-sign (jumpseat--format-level-sign format)))
    (concat (unless (string-empty-p level-sign) (concat (regexp-quote level-sign) "*"))
            (regexp-quote (jumpseat--format-sign format)))))

(defun jumpseat--format-named (name)
  "Return the format NAME, a value of `jumpseat-chat-format'."
  (if (eq name 'org) jumpseat--format-org jumpseat--format-markdown))

(defun jumpseat--format-here ()
  "Return the format of this buffer; its major mode decides."
  (jumpseat--format-named (if (derived-mode-p 'org-mode) 'org 'markdown)))

(defun jumpseat--format-goto-front (format)
  "Move to the place where front matter in FORMAT may begin.
Return whether front matter begins there."
  (goto-char (point-min))
  (when-let ((aside (jumpseat--format-aside format)))
    (while (and (not (eobp)) (looking-at-p aside)) (forward-line)))
  (let ((case-fold-search t))
    (looking-at-p (concat (jumpseat--format-front format) "$"))))

(defun jumpseat--format-of-file ()
  "Return the format of this buffer, whose major mode is not yet set."
  (save-excursion
    (save-restriction
      (widen)
      (goto-char (point-min))
      (jumpseat--format-named
       (if (and (not (looking-at-p "---$\\|## "))
                (or (string-suffix-p ".org" (or buffer-file-name (buffer-name)))
                    (jumpseat--format-goto-front jumpseat--format-org)))
           'org
         'markdown)))))

(provide 'jumpseat-format)
;;; jumpseat-format.el ends here
