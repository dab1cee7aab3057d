;;; units.el --- Unit tests of the Emacs package  -*- lexical-binding: t; -*-
;;; Commentary:
;; `emacs --batch -Q -L editors/emacs -l units.el -f ert-run-tests-batch-and-exit'.  What needs no
;; daemon; the rest is in Python, with a real terminal and a real daemon.
;;; Code:
(require 'ert)
(require 'jumpseat)

(defmacro units-with (text &rest body)
  "Run BODY in a buffer with TEXT, with undo."
  (declare (indent 1))
  `(with-temp-buffer
     (setq buffer-undo-list nil)
     (insert ,text)
     ,@body))

;;; Positions

(ert-deftest units-a-position-counts-units-of-utf-16 ()
  (units-with "a\n😀 ö x\n"
    (goto-char (point-min))
    (search-forward "ö")
    (should (equal (jumpseat-region--to-position (point)) '(:line 1 :character 4)))
    (should (= (point) (jumpseat--region-find '(:line 1 :character 4))))))

(ert-deftest units-a-position-is-that-of-the-whole-buffer-also-in-a-narrowed-one ()
  (units-with "a\nb\nc\n"
    (narrow-to-region 3 5)
    (should (equal (jumpseat-region--to-position 5) '(:line 2 :character 0)))
    (should (equal (plist-get (jumpseat--region-block 1 2) :text) "a"))))

(ert-deftest units-a-uri-has-its-unusual-characters-encoded ()
  (should (equal (jumpseat--region-uri "/tmp/a b#ö.py") "file:///tmp/a%20b%23%C3%B6.py"))
  (should-not (jumpseat--region-uri nil)))

(ert-deftest units-the-uri-of-a-remote-file-names-its-machine ()
  (should (equal (jumpseat--region-uri "/ssh:mona@example.org:/home/mona/a b.py")
                 "ssh://mona@example.org/home/mona/a%20b.py"))
  (should (equal (jumpseat--region-uri "/scp:web:/srv/a.py") "scp://web/srv/a.py")))

(ert-deftest units-conversations-of-a-remote-directory-are-refused ()
  (let ((default-directory "/ssh:example.org:/home/mona/"))
    (should-error (jumpseat-history nil t) :type 'user-error)))

(ert-deftest units-languages-have-the-names-of-lsp ()
  (should (equal (mapcar #'jumpseat--region-language
                         '(python-mode python-ts-mode sh-mode emacs-lisp-mode c++-mode text-mode))
                 '("python" "python" "shellscript" "elisp" "cpp" nil))))

;;; The writer

(ert-deftest units-an-answer-is-one-step-of-undo-also-over-boundaries ()
  (units-with "Question"
    (undo-boundary)
    (let ((writer (jumpseat--writer-new (point-max))))
      (dolist (each '("\n\none " "two " "three"))
        (jumpseat--writer-append writer each)
        ;; As the command loop and timers do.
        (undo-boundary))
      (jumpseat--writer-close writer)
      (should (equal (buffer-string) "Question\n\none two three"))
      (primitive-undo 1 (cdr buffer-undo-list))
      (should (equal (buffer-string) "Question")))))

(ert-deftest units-what-is-typed-behind-a-piece-stays-behind-it ()
  (units-with "Q"
    (let ((writer (jumpseat--writer-new (point-max))))
      (jumpseat--writer-append writer " one")
      (goto-char (point-max))
      (insert " typed")
      (jumpseat--writer-append writer " two")
      (should (equal (buffer-string) "Q one two typed"))
      (should (= (point) (point-max))))))

(ert-deftest units-a-piece-is-replaced-only-if-no-user-has-edited-it ()
  (units-with "Q"
    (let ((writer (jumpseat--writer-new (point-max))))
      (jumpseat--writer-append writer " one\r\n two")
      (should (jumpseat--writer-replace writer " one\n three"))
      (should (equal (buffer-string) "Q one\n three"))
      (should (jumpseat--writer-replace writer ""))
      (should (equal (buffer-string) "Q"))
      (jumpseat--writer-append writer " four")
      (goto-char 3)
      (insert "x")
      (should-not (jumpseat--writer-replace writer " five"))
      (should (equal (buffer-string) "Q xfour")))))

(ert-deftest units-a-buffer-without-undo-stays-without-it ()
  (units-with "Q"
    (buffer-disable-undo)
    (let ((writer (jumpseat--writer-new (point-max))))
      (jumpseat--writer-append writer " one")
      (jumpseat--writer-append writer " two")
      (jumpseat--writer-close writer)
      (should (equal (buffer-string) "Q one two"))
      (should (eq buffer-undo-list t)))))

;;; The mode of chats

(ert-deftest units-a-buffer-that-is-no-longer-a-chat-keeps-nothing-of-it ()
  (units-with "## Me\n\n"
    (jumpseat-chat-mode)
    (should header-line-format)
    (should (and visual-line-mode flymake-mode))
    (jumpseat-chat-mode -1)
    (should-not (or visual-line-mode flymake-mode))
    (dolist (each '(header-line-format scroll-conservatively buffer-offer-save
                    sentence-end-double-space))
      (should-not (local-variable-p each)))
    (dolist (hook '(completion-at-point-functions flymake-diagnostic-functions kill-buffer-hook
                    change-major-mode-hook after-revert-hook after-change-functions))
      (should-not (string-match-p "jumpseat" (format "%S" (symbol-value hook)))))))

(ert-deftest units-a-mode-of-the-user-stays-when-a-buffer-is-no-longer-a-chat ()
  (units-with "## Me\n\n"
    (visual-line-mode)
    (jumpseat-chat-mode)
    (jumpseat-chat-mode -1)
    (should visual-line-mode)
    (should-not flymake-mode)))

(defun units-menu-items (menu)
  "Return the names and commands of MENU and its submenus."
  (let (items)
    (map-keymap (lambda (_key item)
                  ;; In newer releases a separator is a list of a text.
                  (unless (string-prefix-p "--" (or (nth 1 item) (car item)))
                    (if (keymapp (nth 2 item))
                        (setq items (append (units-menu-items (nth 2 item)) items))
                      (push (cons (nth 1 item) (nth 2 item)) items))))
                menu)
    items))

(ert-deftest units-every-item-of-a-menu-is-a-command ()
  (let ((items (seq-mapcat #'units-menu-items (list jumpseat--chat-menu jumpseat--rewrite-menu))))
    (dolist (item items)
      (should (commandp (cdr item))))
    (should (assoc "Send" items))
    (should (assoc "Compare in Ediff" items))
    (should (assoc "Accept All" items))))

;;; Deltas

(ert-deftest units-a-wait-that-is-not-for-the-model-is-shown ()
  (cl-letf (((symbol-function 'jumpseat--rpc-request) #'ignore))
    (units-with "Question"
      (let* ((answer (jumpseat--answer-new "## Assistant"))
             (turn (jumpseat--turn-start "chat/start" nil
                                        (apply-partially #'jumpseat--answer-write answer) #'ignore)))
        (dolist (each '(((:kind "begin" :title "Loading the model") . "Loading the model")
                        ((:kind "report" :message "Loading" :percentage 40) . "Loading 40 %")
                        ((:kind "end") . nil)))
          (jumpseat--inbox-emit '$/progress (list :token (jumpseat--turn-id turn) :value (car each)))
          (should (equal (jumpseat--view-get :detail) (cdr each))))
        (jumpseat-turn--finish turn nil nil)))))

(ert-deftest units-a-restarted-answer-replaces-the-blocks ()
  (units-with "Question"
    (let ((answer (jumpseat--answer-new "## Assistant")))
      (dolist (delta '((:type "response") (:type "text_start") (:type "text_delta" :transcript "Half")
                       (:type "response") (:type "text_start") (:type "text_delta" :transcript "Whole.")))
        (jumpseat--answer-write answer delta))
      (should (equal (buffer-string) "Question\n\n## Assistant\n\nWhole.")))))

(ert-deftest units-only-the-text-of-the-transcript-is-written ()
  (units-with "Question"
    (let ((answer (jumpseat--answer-new "## Assistant")))
      (dolist (delta '((:type "from_the_future" :text "x") (:type "text_start")
                       (:type "text_delta" :text "## Me" :transcript "\\## Me")))
        (jumpseat--answer-write answer delta))
      (should (equal (buffer-string) "Question\n\n## Assistant\n\n\\## Me")))))

(ert-deftest units-the-header-shows-a-percent-sign ()
  (with-temp-buffer
    (jumpseat--view-update :model "a:b" :quota "chat: 40 % left")
    (should (string-match-p "chat: 40 %% left" (jumpseat--view-header)))))

(ert-deftest units-the-header-is-made-once-for-each-status ()
  (with-temp-buffer
    (jumpseat--view-update :model "a:b")
    (let ((header (jumpseat--view-header)))
      (should (eq header (jumpseat--view-header)))
      (jumpseat--view-update :state 'waiting)
      (should-not (equal header (jumpseat--view-header))))))

;;; Edits

(ert-deftest units-a-difference-is-in-hunks-of-lines ()
  (should (equal (jumpseat--hunks-compute "a\nb\nc\nd\ne\n" "a\nX\nc\nY\nd\n")
                 '((2 4 2 4) (6 6 6 8) (8 10 10 10))))
  ;; Lines that are there more than once, and lines that have changed their places.
  (should (equal (jumpseat--hunks-compute "(\na\n)\n(\nb\n)\n" "(\na\n)\n(\nX\n)\n(\nb\n)\n")
                 '((8 8 8 14))))
  (should (equal (jumpseat--hunks-compute "a\nb\nc\n" "c\na\nb\n") '((0 0 0 2) (4 6 6 6))))
  (should (equal (jumpseat--hunks-compute "a" "a\n") '((0 1 0 2))))
  (should (equal (jumpseat--hunks-compute "" "a\n") '((0 0 0 2))))
  (should (equal (jumpseat--hunks-compute "a\n" "") '((0 2 0 0))))
  (should-not (jumpseat--hunks-compute "a\na\n" "a\na\n")))

(ert-deftest units-a-preview-shows-each-hunk-at-its-lines ()
  (units-with "a\nb\nc\nd\n"
    (jumpseat--hunks-show 1 (jumpseat--hunks-compute (buffer-string) "X\nb\nc\nd\nY\n") "X\nb\nc\nd\nY\n" 'preview)
    (should (equal (mapcar (lambda (each)
                             (list (overlay-start each) (overlay-end each)
                                   (substring-no-properties (overlay-get each 'after-string))))
                           (jumpseat--hunks-find-shown))
                   '((1 3 "X\n") (9 9 "Y\n"))))))

(ert-deftest units-a-fence-around-an-answer-is-not-shown ()
  (should (equal (jumpseat-preview--remove-fence "```python\nx = 1\n```\n") "x = 1\n"))
  (should (equal (jumpseat-preview--remove-fence "x = 1\n") "x = 1\n")))

;;; Tools

(ert-deftest units-a-unified-difference-has-three-lines-of-context ()
  (should (equal (jumpseat--hunks-format-diff "1\n2\n3\n4\n5\n6\n7\n8\n9\n" "1\n2\n3\n4\nx\n6\n7\n8\n9\n" "a")
                 "--- a\n+++ a\n@@ -2,7 +2,7 @@\n 2\n 3\n 4\n-5\n+x\n 6\n 7\n 8\n"))
  (should (equal (jumpseat--hunks-format-diff nil "x" "a")
                 "--- /dev/null\n+++ a\n@@ -0,0 +1,1 @@\n+x\n\\ No newline at end of file\n")))

(ert-deftest units-switching-a-tool-leaves-selectors-of-other-servers ()
  (let ((rows '(:tools [(:server "a" :tool "x") (:server "a" :tool "y") (:server "b" :tool "x")])))
    (should (equal (jumpseat-tools--switch '("b/*" "a/*") rows "a" "x") '("b/*" "a/y")))
    (should (equal (jumpseat-tools--switch '("b/*" "a/y") rows "a" "x") '("b/*" "a/*")))
    (should (equal (jumpseat-tools--switch '("b/*" "a/y") rows "a" nil) '("b/*")))
    (should (equal (jumpseat-tools--switch '("b/*") rows "a" nil) '("b/*" "a/*")))
    (should (equal (jumpseat-tools--switch '("c/*") rows "c" nil) nil))))

(ert-deftest units-the-home-directory-is-no-workspace ()
  (let ((default-directory (expand-file-name "~/")))
    (should-not (jumpseat--workspace-folder)))
  (let ((default-directory "/ssh:example.org:/home/mona/x/"))
    (should-not (jumpseat--workspace-folder)))
  (let ((default-directory (file-name-as-directory (make-temp-file "units" t))))
    (should (equal (jumpseat--workspace-folder) default-directory))
    (delete-directory default-directory)))

(ert-deftest units-an-edit-of-a-text-that-has-changed-is-refused ()
  (let* ((file (make-temp-file "units")) (buffer (find-file-noselect file)))
    (unwind-protect
        (with-current-buffer buffer
          (insert "a\nb\n")
          (let* ((document (elt (plist-get (jumpseat-workspace--report-unsaved
                                            (list :uris (vector (jumpseat--region-uri file))))
                                           :documents)
                                0))
                 (edits [(:range (:start (:line 0 :character 0) :end (:line 1 :character 0)) :newText "A\n")
                         (:range (:start (:line 2 :character 0) :end (:line 2 :character 0)) :newText "c\n")])
                 (params `(:edit (:documentChanges [(:textDocument ,document :edits ,edits)]))))
            (should (equal (plist-get document :text) "a\nb\n"))
            (should (equal (jumpseat-workspace--apply-edit params) '(:applied t)))
            (should (equal (buffer-string) "A\nb\nc\n"))
            (should (eq :json-false (plist-get (jumpseat-workspace--apply-edit params) :applied)))
            (should (equal (buffer-string) "A\nb\nc\n"))
            (set-buffer-modified-p nil)
            (should (equal (jumpseat-workspace--report-unsaved nil) '(:documents [])))))
      (kill-buffer buffer)
      (delete-file file))))

;;; Sign-in

(ert-deftest units-a-sign-in-without-a-code-shows-the-host ()
  (let ((kill-ring nil))
    (should (equal (seq-take (jumpseat-account--describe-prompt
                              '(:provider "mcp:github" :verificationUri "https://x/y" :host "x"))
                             4)
                   '("Sign in to github" "" "Page:  https://x/y" "Host:  x")))
    (should-not kill-ring)
    (should (member "Code:  AB-1" (jumpseat-account--describe-prompt
                                   '(:provider "copilot" :verificationUri "https://x/y"
                                     :userCode "AB-1"))))
    (should (equal kill-ring '("AB-1")))))

;;; The log

(defmacro units-with-log (limit &rest body)
  "Run BODY with an empty log of at most LIMIT characters."
  (declare (indent 1))
  `(let ((jumpseat--log-buffer (generate-new-buffer-name "log"))
         (jumpseat-log-limit ,limit))
     (unwind-protect (progn ,@body)
       (kill-buffer jumpseat--log-buffer))))

(defun units-log ()
  "The lines of the log without their times."
  (with-current-buffer jumpseat--log-buffer
    (split-string (replace-regexp-in-string "^[-0-9]+T[:0-9]+ " "" (buffer-string)) "\n" t)))

(ert-deftest units-the-oldest-lines-of-the-log-are-removed ()
  (units-with-log 100
    (dotimes (number 50) (jumpseat--log-write "line %d" number))
    (should (equal (units-log) '("line 47" "line 48" "line 49")))))

(ert-deftest units-the-end-of-a-line-that-is-longer-than-the-log-is-kept ()
  (units-with-log 100
    (jumpseat--log-write "short")
    (jumpseat--log-write "%s end" (make-string 1000 ?x))
    (should (equal (units-log) (list (concat (make-string 95 ?x) " end"))))))

(ert-deftest units-a-log-without-a-limit-keeps-all-of-it ()
  (units-with-log nil
    (dotimes (number 50) (jumpseat--log-write "line %d" number))
    (should (= 50 (length (units-log))))))

(ert-deftest units-a-person-who-reads-a-full-log-stays-at-the-line ()
  (units-with-log 100
    (dotimes (number 5) (jumpseat--log-write "line %d" number))
    (with-current-buffer jumpseat--log-buffer
      (goto-char (point-max))
      (search-backward "line 4")
      (narrow-to-region (line-beginning-position) (line-end-position))
      (jumpseat--log-write "line 5")
      (should (looking-at "line 4\\'"))
      (widen))
    (should (equal (units-log) '("line 3" "line 4" "line 5")))))

;;; Transcripts

(ert-deftest units-front-matter-ends-after-its-second-line-of-dashes ()
  (units-with "---\nmodel: a:b\n---\n\n## Me\n\n---\n"
    (should (= 20 (jumpseat--transcript-front-matter-end)))
    (should (equal (jumpseat--transcript-model) "a:b")))
  (units-with "## Me\n\n---\nmodel: a:b\n---\n"
    (should (= 1 (jumpseat--transcript-front-matter-end)))
    (should-not (jumpseat--transcript-model)))
  (units-with "---\nmodel: a:b\n" (should (= 1 (jumpseat--transcript-front-matter-end)))))

(ert-deftest units-front-matter-is-put-in-the-place-of-the-old ()
  (units-with "---\nmodel: a:b\n---\n\n## Me\n"
    (jumpseat--transcript-put-front-matter "---\nmodel: a:c\n---\n")
    (should (equal (buffer-string) "---\nmodel: a:c\n---\n\n## Me\n")))
  (units-with "## Me\n"
    (jumpseat--transcript-put-front-matter "---\nmodel: a:c\n---\n")
    (should (equal (buffer-string) "---\nmodel: a:c\n---\n\n## Me\n"))))

;;; Context

(ert-deftest units-the-size-of-a-short-text-is-a-number-of-tokens ()
  (dolist (pair '(("x" . "about 0 tokens") ("12345" . "about 1 token") ("12345678" . "about 2 tokens")))
    (let ((item (jumpseat--context-text-item "note" (car pair))))
      (jumpseat--context-build item)
      (should (equal (jumpseat--context-describe-size item) (cdr pair)))))
  (let ((item (jumpseat--context-image-item "x" "image/png")))
    (jumpseat--context-build item)
    (should (equal (jumpseat--context-describe-size item) "image or document"))))

;;; Tools

(ert-deftest units-the-list-of-tools-says-why-there-are-no-file-tools ()
  (units-with ""
    (setq default-directory (expand-file-name "~/"))
    (let ((chat (current-buffer)))
      (units-with ""
        (setq jumpseat-tools--chat chat)
        (jumpseat-tools--draw)
        (should (string-search "this chat's directory is your home directory" (buffer-string)))))))

;;; References

(ert-deftest units-only-words-are-references ()
  (cl-letf (((symbol-function 'jumpseat-references--build-block) #'identity))
    (should (equal (jumpseat-references--build-blocks "See @buffer, @file:a/b.py. Mail me@buffer.org @other")
                   '("@buffer" "@file:a/b.py")))))

;;; Programs

(ert-deftest units-nothing-is-offered-while-the-daemon-is-being-installed ()
  (let ((jumpseat-install--running t)
        (jumpseat-command nil)
        said)
    (cl-letf (((symbol-function 'jumpseat--program) #'ignore)
              ((symbol-function 'jumpseat--ui-choose) (lambda (&rest _) (push 'offer said)))
              ((symbol-function 'jumpseat--say) (lambda (text &rest _) (push text said))))
      (jumpseat-install--offer-after (jumpseat-rpc--make-missing-error) nil))
    (should (equal said '("jumpseat is being installed: send the question again afterwards.")))))

(defun units-run (&rest command)
  "Return the arguments with which `jumpseat--run-process' reports the end of COMMAND."
  (let (ended)
    (jumpseat--run-process command (lambda (&rest result) (setq ended result)))
    (with-timeout (10)
      (while (null ended) (accept-process-output nil 0.05)))
    ended))

(ert-deftest units-a-program-that-reads-its-input-does-not-wait-for-ever ()
  (should (equal (units-run "sh" "-c" "read x || echo nothing; exit 3") '(3 "nothing"))))

(ert-deftest units-a-missing-program-is-reported ()
  (should (string-match-p "no-such-program" (nth 1 (units-run "no-such-program")))))

;;; The connection

(ert-deftest units-an-error-in-one-call-does-not-hold-up-the-others ()
  (let (called)
    (jumpseat--inbox-add #'error "Broken")
    (jumpseat--inbox-add (lambda (each) (push each called)) 1)
    (jumpseat--inbox-add (lambda (each) (push each called)) 2)
    (let ((debug-on-error nil)) (jumpseat-inbox--drain))
    (should (equal called '(2 1)))))

(ert-deftest units-a-sentence-has-the-message-and-the-hint ()
  (should (equal (jumpseat--format-error (jumpseat--make-failure "config" "It broke." "Fix it."))
                 "It broke. Fix it."))
  (should (equal (jumpseat--format-error '(:message "It broke.")) "It broke.")))

;; An editor that stopped on this file could not even install again.
(ert-deftest units-a-corrupt-record-of-the-installation-is-ignored ()
  (let ((user-emacs-directory (make-temp-file "units" t)))
    (make-directory (jumpseat--install-directory) t)
    (dolist (content (list "" "{" "3" "[]" (format "{\"key\": \"%s\"}" jumpseat-version)))
      (write-region content nil (expand-file-name "current.json" (jumpseat--install-directory))
                    nil 'silent)
      (should-not (jumpseat--installed-program)))
    (delete-directory user-emacs-directory t)))

(ert-deftest units-the-program-is-looked-for-on-this-machine ()
  (let ((default-directory "/ssh:nowhere.invalid:/home/"))
    (should (equal (jumpseat--local-directory) (expand-file-name "~/")))
    (should (jumpseat--find-program "sh"))))

(provide 'units)
;;; units.el ends here
